//! What the operators compute: tensors taken apart, checked, and handed to the kernels.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use ort::{
    Error, Result,
    operator::ComputeContext,
    value::{PrimitiveTensorElementType, ValueRef, ValueRefMut},
};

use super::{
    super::kernels::{
        LayerNorm, Linear, LinearParts, QuantizeRows, QuantizeWeights, Rescale, SelfAttention,
        SharedSlice, Table, TokenEmbeddings, pool,
    },
    Attributes,
};
use crate::fault;

/// A task of fewer operations than this is done sooner than another thread is woken.
const WORTH_A_THREAD: usize = 100_000;

/// Does the tasks below `count`, on the threads of the session if the `operations` of them all are
/// many enough.
fn parallel(
    context: &ComputeContext,
    count: usize,
    operations: usize,
    task: impl Fn(usize) + Sync + Send,
) -> Result<()> {
    if operations < WORTH_A_THREAD {
        (0..count).for_each(task);
        return Ok(());
    }
    // A panic must not unwind through the threads of ONNX Runtime.
    let panicked = AtomicBool::new(false);
    let guarded = |index| {
        let task = || {
            fault::point("task");
            task(index)
        };
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            panicked.store(true, Ordering::Relaxed);
        }
    };
    context.par_for(count, 0, guarded)?;
    if panicked.into_inner() { Err(Error::new("a task panicked")) } else { Ok(()) }
}

fn input<'a>(context: &'a ComputeContext, index: usize) -> Result<ValueRef<'a>> {
    context.input(index)?.ok_or_else(|| Error::new(format!("input {index} is missing")))
}

fn output<'a, const N: usize>(
    context: &'a ComputeContext,
    index: usize,
    shape: [usize; N],
) -> Result<ValueRefMut<'a>> {
    context.output(index, shape)?.ok_or_else(|| Error::new(format!("output {index} is missing")))
}

fn numbers<'v, T: PrimitiveTensorElementType>(value: &'v ValueRef) -> Result<&'v [T]> {
    Ok(value.try_extract_tensor()?.1)
}

fn shared<'v, T: PrimitiveTensorElementType>(
    value: &'v mut ValueRefMut,
) -> Result<SharedSlice<'v, T>> {
    Ok(SharedSlice::new(value.try_extract_tensor_mut()?.1))
}

/// How many rows and columns a matrix has, at least one of either, and its numbers.
fn matrix<'v, T: PrimitiveTensorElementType>(
    value: &'v ValueRef,
) -> Result<(usize, usize, &'v [T])> {
    let (shape, numbers) = value.try_extract_tensor()?;
    match shape[..] {
        [rows, columns] if rows > 0 && columns > 0 => {
            Ok((rows as usize, columns as usize, numbers))
        }
        _ => Err(Error::new(format!("expected a matrix, got the shape {shape:?}"))),
    }
}

fn misfit() -> Error {
    Error::new("the shapes do not fit")
}

pub fn token_embeddings(context: &ComputeContext, _: Attributes) -> Result<()> {
    let (ids, word, word_scale) = (input(context, 0)?, input(context, 1)?, input(context, 2)?);
    let (position, position_scale) = (input(context, 3)?, input(context, 4)?);
    let embeddings = TokenEmbeddings {
        ids: numbers(&ids)?,
        word: Table { values: numbers(&word)?, scale: numbers(&word_scale)? },
        position: Table { values: numbers(&position)?, scale: numbers(&position_scale)? },
    };
    let width = embeddings.width().ok_or_else(misfit)?;
    let mut y = output(context, 0, [embeddings.ids.len(), width])?;
    embeddings.run(width, y.try_extract_tensor_mut()?.1);
    Ok(())
}

pub fn layer_norm(context: &ComputeContext, attributes: Attributes) -> Result<()> {
    let (x, gamma, beta) = (input(context, 0)?, input(context, 1)?, input(context, 2)?);
    let (rows, columns, x) = matrix(&x)?;
    let mut y = output(context, 0, [rows, columns])?;
    let norm = LayerNorm {
        x,
        gamma: numbers(&gamma)?,
        beta: numbers(&beta)?,
        epsilon: attributes.epsilon,
        y: shared(&mut y)?,
    };
    if !norm.fits() {
        return Err(misfit());
    }
    parallel(context, norm.tasks(), x.len(), |task| {
        // SAFETY: `parallel` does each task once.
        unsafe { norm.run(task) }
    })
}

pub fn pool_rows(context: &ComputeContext, _: Attributes) -> Result<()> {
    let x = input(context, 0)?;
    let (_, columns, x) = matrix(&x)?;
    pool(x, output(context, 0, [columns])?.try_extract_tensor_mut()?.1);
    Ok(())
}

pub fn linear(context: &ComputeContext, attributes: Attributes) -> Result<()> {
    let x = input(context, 0)?;
    let (rows, depth, x) = matrix(&x)?;
    let (weight, scale, bias) = (input(context, 1)?, input(context, 2)?, input(context, 3)?);
    let residual = context.input(4)?;
    let parts = LinearParts {
        weight: numbers(&weight)?,
        scale: numbers(&scale)?,
        bias: numbers(&bias)?,
        residual: residual.as_ref().map(numbers).transpose()?,
        gelu: attributes.gelu,
    };
    let linear = Linear::new(parts, rows).filter(|linear| linear.depth() == depth);
    let linear = linear.ok_or_else(misfit)?;
    let mut y = output(context, 0, [rows, linear.columns()])?;
    let y = shared(&mut y)?;
    parallel(context, linear.tasks(), x.len() * linear.columns() / 16, |task| {
        // SAFETY: `parallel` does each task once.
        unsafe { linear.run(task, x, &y) }
    })
}

pub fn self_attention(context: &ComputeContext, _: Attributes) -> Result<()> {
    let projected = input(context, 0)?;
    let (rows, columns, projected) = matrix(&projected)?;
    let mut y = output(context, 0, [rows, columns / 3])?;
    let y = y.try_extract_tensor_mut()?.1;
    let attention = SelfAttention::new(projected, y).ok_or_else(misfit)?;
    let operations = rows * projected.len() / 8;
    parallel(context, attention.tasks(), operations, |task| attention.run(task))
}

pub fn quantize_weights(context: &ComputeContext, attributes: Attributes) -> Result<()> {
    let (weight, scale) = (input(context, 0)?, input(context, 1)?);
    let (weight, scale) = (numbers::<i16>(&weight)?, numbers::<f32>(&scale)?);
    let columns = scale.len();
    let depth = weight.len().checked_div(columns).ok_or_else(misfit)?;
    let (mut q, mut q_scale) =
        (output(context, 0, [depth, columns])?, output(context, 1, [columns])?);
    let (q, q_scale) = (shared(&mut q)?, shared(&mut q_scale)?);
    let quantize = QuantizeWeights::new(weight, scale, attributes.rotation, q, q_scale);
    let quantize = quantize.ok_or_else(misfit)?;
    parallel(context, quantize.tasks(), usize::MAX, |task| {
        // SAFETY: `parallel` does each task once.
        unsafe { quantize.run(task) }
    })
}

pub fn quantize_rows(context: &ComputeContext, attributes: Attributes) -> Result<()> {
    let x = input(context, 0)?;
    let (rows, depth, x) = matrix(&x)?;
    let (mut q, mut scale) = (output(context, 0, [rows, depth])?, output(context, 1, [rows])?);
    let (q, scale) = (shared(&mut q)?, shared(&mut scale)?);
    let quantize = QuantizeRows::new(x, rows, attributes.rotation, q, scale).ok_or_else(misfit)?;
    parallel(context, quantize.tasks(), 4 * x.len(), |task| {
        // SAFETY: `parallel` does each task once.
        unsafe { quantize.run(task) }
    })
}

pub fn rescale(context: &ComputeContext, attributes: Attributes) -> Result<()> {
    let product = input(context, 0)?;
    let (rows, columns, product) = matrix(&product)?;
    let (row_scale, scale, bias) = (input(context, 1)?, input(context, 2)?, input(context, 3)?);
    let residual = context.input(4)?;
    let mut y = output(context, 0, [rows, columns])?;
    let rescale = Rescale {
        product,
        row_scale: numbers(&row_scale)?,
        scale: numbers(&scale)?,
        bias: numbers(&bias)?,
        residual: residual.as_ref().map(numbers).transpose()?,
        gelu: attributes.gelu,
        y: shared(&mut y)?,
    };
    if !rescale.fits() {
        return Err(misfit());
    }
    let operations = product.len() * if attributes.gelu { 4 } else { 1 };
    parallel(context, rescale.tasks(), operations, |task| {
        // SAFETY: `parallel` does each task once.
        unsafe { rescale.run(task) }
    })
}
