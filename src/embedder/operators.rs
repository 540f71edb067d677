//! The operators of the model that are not ONNX's own, as ONNX Runtime calls them.
//!
//! Each takes its tensors apart, checks that their shapes fit, and hands the work to [`kernels`] in
//! tasks, which ONNX Runtime spreads over the threads of the session.
//!
//! [`kernels`]: super::kernels

mod compute;

use std::panic::{AssertUnwindSafe, catch_unwind};

use ort::{
    Error, Result,
    operator::{
        BoxedKernel, ComputeContext, KernelContext, Operator, OperatorDomain, OperatorInput,
        OperatorOutput,
    },
    value::{
        TensorElementType,
        TensorElementType::{Float32, Int8, Int16, Int32, Int64, Uint8},
    },
};

use compute::{
    layer_norm, linear, pool_rows, quantize_rows, quantize_weights, rescale, self_attention,
    token_embeddings,
};

use crate::fault;

/// The domain of the operators in the graph.
const DOMAIN: &str = "knowledgepulse";

/// All operators.
///
/// # Errors
///
/// What ONNX Runtime says.
pub fn domain() -> Result<OperatorDomain> {
    let operators = [
        ModelOperator {
            name: "TokenEmbeddings",
            // ids, word table and its scale, position table and its scale
            inputs: &[Int64, Int16, Float32, Int16, Float32],
            optional: 0,
            outputs: &[Float32],
            compute: token_embeddings,
        },
        ModelOperator {
            name: "LayerNorm",
            // x, gamma, beta
            inputs: &[Float32, Float32, Float32],
            optional: 0,
            outputs: &[Float32],
            compute: layer_norm,
        },
        ModelOperator {
            name: "Pool",
            // x
            inputs: &[Float32],
            optional: 0,
            outputs: &[Float32],
            compute: pool_rows,
        },
        ModelOperator {
            name: "Linear",
            // x, weight, scale, bias, residual
            inputs: &[Float32, Int16, Float32, Float32, Float32],
            optional: 1,
            outputs: &[Float32],
            compute: linear,
        },
        ModelOperator {
            name: "SelfAttention",
            // queries, keys and values side by side
            inputs: &[Float32],
            optional: 0,
            outputs: &[Float32],
            compute: self_attention,
        },
        ModelOperator {
            name: "QuantizeWeights",
            // weight, scale
            inputs: &[Int16, Float32],
            optional: 0,
            outputs: &[Int8, Float32],
            compute: quantize_weights,
        },
        ModelOperator {
            name: "QuantizeRows",
            // x
            inputs: &[Float32],
            optional: 0,
            outputs: &[Uint8, Float32],
            compute: quantize_rows,
        },
        ModelOperator {
            name: "Rescale",
            // product, row scale, scale, bias, residual
            inputs: &[Int32, Float32, Float32, Float32, Float32],
            optional: 1,
            outputs: &[Float32],
            compute: rescale,
        },
    ];
    operators.into_iter().try_fold(OperatorDomain::new(DOMAIN)?, OperatorDomain::add)
}

struct ModelOperator {
    name: &'static str,
    inputs: &'static [TensorElementType],
    /// How many inputs at the end may be missing.
    optional: usize,
    outputs: &'static [TensorElementType],
    compute: fn(&ComputeContext, Attributes) -> Result<()>,
}

/// What a node of the graph says beside its inputs.
#[derive(Clone, Copy)]
struct Attributes {
    gelu: bool,
    rotation: usize,
    epsilon: f32,
}

impl Operator for ModelOperator {
    type Kernel<'a> = BoxedKernel<'a>;

    fn name(&self) -> &str {
        self.name
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        let required = self.inputs.len() - self.optional;
        self.inputs.iter().enumerate().map(move |(index, element)| {
            let make =
                if index < required { OperatorInput::required } else { OperatorInput::optional };
            make(*element)
        })
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        self.outputs.iter().map(|element| OperatorOutput::required(*element))
    }

    fn create_kernel<'a>(&self, node: &KernelContext<'a>) -> Result<Self::Kernel<'a>> {
        let attributes = Attributes {
            gelu: node.get::<i64>("gelu") == Some(1),
            rotation: node.get::<i64>("rotation").map_or(1, |size| size.max(1) as usize),
            epsilon: node.get::<f32>("epsilon").unwrap_or(0.0),
        };
        let Self { name, compute, .. } = *self;
        Ok(Box::new(move |context: &ComputeContext| {
            // A panic must not unwind into ONNX Runtime.
            let compute = || {
                fault::point("operator");
                compute(context, attributes)
            };
            catch_unwind(AssertUnwindSafe(compute))
                .unwrap_or_else(|_| Err(Error::new("panicked")))
                .map_err(|error| Error::new(format!("{name}: {error}")))
        }))
    }
}
