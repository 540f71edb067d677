//! The custom operators of the model for ONNX Runtime.
//!
//! Each extracts its tensors and runs a kernel in tasks on our own threads: those of ONNX Runtime spin while they wait,
//! which delays a thread woken on the same core by milliseconds.

use std::panic::{AssertUnwindSafe, catch_unwind};

use knowledgepulse_workers::fault;
use ort::{
    Error, Result,
    operator::{
        BoxedKernel, ComputeContext, KernelContext, Operator, OperatorDomain, OperatorInput,
        OperatorOutput,
    },
    value::{
        PrimitiveTensorElementType as Element,
        TensorElementType::{self, Float32, Int16, Int64},
        ValueRef, ValueRefMut,
    },
};

use crate::kernels::{
    self, Kernel, LayerNorm, Linear, LinearWeights, Norm, SelfAttention, Table, embed_tokens, pool,
};

const DOMAIN: &str = "knowledgepulse";

pub fn domain() -> Result<OperatorDomain> {
    // Name, inputs, optional inputs, function. The output is float32.
    let operators: [(_, &'static [_], &'static [_], Compute); 5] = [
        // ids, word table and its scale, position table and its scale
        ("TokenEmbeddings", &[Int64, Int16, Float32, Int16, Float32], &[], embeddings),
        // x, gamma, beta
        ("LayerNorm", &[Float32; 3], &[], layer_norm),
        ("Pool", &[Float32], &[], pool_rows),
        // x, weight, scale, bias; residual
        ("Linear", &[Float32, Int16, Float32, Float32], &[Float32], linear),
        // queries, keys and values side by side
        ("SelfAttention", &[Float32], &[], self_attention),
    ];
    let domain = OperatorDomain::new(DOMAIN)?;
    operators.into_iter().try_fold(domain, |domain, (name, inputs, optional, compute)| {
        domain.add(ModelOperator { name, inputs, optional, compute })
    })
}

/// Computes the output of a node, with GELU if the node has this attribute.
type Compute = fn(&ComputeContext, bool) -> Result<()>;

struct ModelOperator {
    name: &'static str,
    inputs: &'static [TensorElementType],
    /// Optional inputs after those.
    optional: &'static [TensorElementType],
    compute: Compute,
}

impl Operator for ModelOperator {
    type Kernel<'a> = BoxedKernel<'a>;

    fn name(&self) -> &str {
        self.name
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        let required = self.inputs.iter().copied().map(OperatorInput::required);
        required.chain(self.optional.iter().copied().map(OperatorInput::optional))
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(Float32)]
    }

    fn create_kernel<'a>(&self, node: &KernelContext<'a>) -> Result<Self::Kernel<'a>> {
        let gelu = node.get::<i64>("gelu") == Some(1);
        let Self { name, compute, .. } = *self;
        Ok(Box::new(move |context: &ComputeContext| {
            // A panic must not unwind into ONNX Runtime.
            let compute = || {
                fault::point("operator");
                compute(context, gelu)
            };
            catch_unwind(AssertUnwindSafe(compute))
                .unwrap_or_else(|_| Err(Error::new("panicked")))
                .map_err(|error| Error::new(format!("{name}: {error}")))
        }))
    }
}

fn run_kernel(kernel: impl Kernel) -> Result<()> {
    if kernels::run(kernel) { Ok(()) } else { Err(Error::new("a task panicked")) }
}

fn inputs<'a, const N: usize>(context: &'a ComputeContext) -> Result<[ValueRef<'a>; N]> {
    let input = |index| {
        context.input(index)?.ok_or_else(|| Error::new(format!("input {index} is missing")))
    };
    let inputs = (0..N).map(input).collect::<Result<Vec<_>>>()?;
    Ok(inputs.try_into().expect("N inputs"))
}

fn output<'a>(context: &'a ComputeContext, shape: &[usize]) -> Result<ValueRefMut<'a>> {
    context.output(0, shape)?.ok_or_else(|| Error::new("the output is missing"))
}

fn numbers<'v, T: Element>(value: &'v ValueRef) -> Result<&'v [T]> {
    Ok(value.try_extract_tensor()?.1)
}

/// Returns the rows and columns of a matrix, at least one of each, and its numbers.
fn matrix<'v, T: Element>(value: &'v ValueRef) -> Result<(usize, usize, &'v [T])> {
    let (shape, numbers) = value.try_extract_tensor()?;
    match shape[..] {
        [rows @ (1..), columns @ (1..)] => Ok((rows as usize, columns as usize, numbers)),
        _ => Err(Error::new(format!("expected a matrix, got the shape {shape:?}"))),
    }
}

fn embeddings(context: &ComputeContext, _: bool) -> Result<()> {
    let [ids, word, word_scale, position, position_scale] = &inputs(context)?;
    let (_, width, word) = matrix(word)?;
    let word = Table { values: word.into(), scale: numbers(word_scale)?.into() };
    let position =
        Table { values: numbers(position)?.into(), scale: numbers(position_scale)?.into() };
    let ids = numbers(ids)?;
    let mut y = output(context, &[ids.len(), width])?;
    embed_tokens(ids, &word, &position, 0, y.try_extract_tensor_mut()?.1);
    Ok(())
}

fn layer_norm(context: &ComputeContext, _: bool) -> Result<()> {
    let [x, gamma, beta] = &inputs(context)?;
    let (rows, columns, x) = matrix(x)?;
    let mut y = output(context, &[rows, columns])?;
    let norm = Norm { gamma: numbers(gamma)?.into(), beta: numbers(beta)?.into() };
    run_kernel(LayerNorm::new(&norm, x, y.try_extract_tensor_mut()?.1))
}

fn pool_rows(context: &ComputeContext, _: bool) -> Result<()> {
    let [x] = &inputs(context)?;
    let (_, columns, x) = matrix(x)?;
    let mut y = output(context, &[columns])?;
    y.try_extract_tensor_mut()?.1.copy_from_slice(&pool(x, columns));
    Ok(())
}

fn linear(context: &ComputeContext, gelu: bool) -> Result<()> {
    let [x, weight, scale, bias] = &inputs(context)?;
    let residual = context.input(4)?;
    let (rows, _, x) = matrix(x)?;
    let (values, scale, bias) = (numbers(weight)?, numbers(scale)?, numbers(bias)?);
    let weights = LinearWeights { values: values.into(), scale: scale.into(), bias: bias.into() };
    let residual = residual.as_ref().map(numbers).transpose()?;
    let mut y = output(context, &[rows, weights.columns()])?;
    run_kernel(Linear::new(&weights, x, residual, gelu, y.try_extract_tensor_mut()?.1))
}

fn self_attention(context: &ComputeContext, _: bool) -> Result<()> {
    let [projected] = &inputs(context)?;
    let (rows, columns, projected) = matrix(projected)?;
    let mut y = output(context, &[rows, columns / 3])?;
    run_kernel(SelfAttention::new(projected, y.try_extract_tensor_mut()?.1))
}
