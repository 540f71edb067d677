//! The ONNX Runtime backend: the graph of a model, its inputs, its output, and pooling.

pub(crate) mod library;

use std::{
    ffi::{CStr, CString},
    ptr::{self, NonNull},
    sync::Arc,
};

use half::f16;
use knowledgepulse_workers::{CancelToken, fault};
use once_cell::sync::OnceCell;
use ort::{
    AsPointer,
    environment::Environment,
    logging::LogLevel,
    session::{NoSelectedOutputs, RunOptions, Session, builder::SessionBuilder},
    value::{DynValue, Outlet, Tensor, TensorElementType, ValueType},
};

use super::Backend;
use crate::{
    custom::CustomFolder,
    embed_error::{EmbedError, Result},
    pooling::{self, Pooling},
    shape::Embedding,
};

const MAX_WIDTH: usize = 4096;

/// A graph. One session with all threads embeds all texts: a second session would take the memory of
/// the model again, and another number of threads might give other bits.
pub(crate) struct OnnxModel {
    session: Session,
    inputs: Vec<Input>,
    output: CString,
    folder: Arc<CustomFolder>,
    /// How the vectors of tokens are pooled; `None` if the output is pooled.
    pooling: Option<Pooling>,
    /// The length of an embedding, known from the first text.
    width: OnceCell<usize>,
}

struct Input {
    name: CString,
    value: Value,
    is_narrow: bool,
}

/// Returns the value of an input for a token and its position.
type Value = fn(id: i64, position: i64) -> i64;

const INPUTS: [(&str, Value); 4] = [
    (TOKEN_IDS, |id, _| id),
    ("attention_mask", |_, _| 1),
    ("token_type_ids", |_, _| 0),
    ("position_ids", |_, position| position),
];
const TOKEN_IDS: &str = "input_ids";

impl OnnxModel {
    /// Loads the graph, and checks inputs and outputs.
    pub(crate) fn load(
        folder: Arc<CustomFolder>,
        environment: &Environment,
        threads: usize,
    ) -> Result<Self> {
        fault::point("session");
        let load = |threads| session_builder(environment, threads)?.commit_from_file(&folder.graph);
        // The system may refuse more threads than the calling one.
        let session = load(threads).or_else(|_| load(1));
        let session = session.map_err(|error| EmbedError::file(&folder.graph, error))?;
        let failed = |what: String| EmbedError::file(&folder.graph, what);
        let inputs = session.inputs().iter().map(Input::of).collect::<Result<Vec<_>, _>>();
        let inputs = inputs.map_err(failed)?;
        if !session.inputs().iter().any(|input| input.name() == TOKEN_IDS) {
            return Err(failed(format!("expected an input {TOKEN_IDS}, got none")));
        }
        let (output, is_pooled) = choose_output(session.outputs(), &folder).map_err(failed)?;
        let pooling = match (is_pooled, folder.modules.pooling, &folder.modules.further) {
            (true, _, _) if folder.options.pooling.is_some() => Err(format!(
                "pooling: expected none with the output {output:?}, which is pooled"
            )),
            (true, _, _) => Ok(None),
            (false, _, Some(module)) => Err(format!(
                "expected an output of whole texts, because modules.json has {module} behind pooling; got {output:?}"
            )),
            (false, None, _) => Err(
                "pooling: expected \"mean\", \"cls\" or \"last\" as an option, because there is no 1_Pooling/config.json".into(),
            ),
            (false, pooling, None) => Ok(pooling),
        };
        let pooling = pooling.map_err(failed)?;
        let output = CString::new(output).map_err(|error| failed(error.to_string()))?;
        Ok(Self { session, inputs, output, folder, pooling, width: OnceCell::new() })
    }

    fn embed(&self, ids: &[i64], options: &RunOptions<NoSelectedOutputs>) -> Result<Embedding> {
        let mut inputs = Vec::new();
        for Input { name, value, is_narrow } in &self.inputs {
            let positions = self.folder.first_position..;
            let values = ids.iter().zip(positions).map(|(id, position)| value(*id, position));
            let shape = [1, ids.len()];
            let tensor = if *is_narrow {
                let values: Vec<i32> = values.map(|value| value as i32).collect();
                Tensor::from_array((shape, values)).map(Tensor::into_dyn)
            } else {
                Tensor::from_array((shape, values.collect::<Vec<_>>())).map(Tensor::into_dyn)
            };
            inputs.push((name.as_c_str(), tensor.map_err(runtime_error)?));
        }
        let output = run_session(&self.session, options, &inputs, &self.output)?;
        self.embedding(&output, ids.len())
    }

    fn embedding(&self, output: &DynValue, tokens: usize) -> Result<Embedding> {
        let halves;
        let (shape, numbers) = match output.try_extract_tensor::<f32>() {
            Ok(found) => found,
            Err(_) => {
                let (shape, numbers) = output.try_extract_tensor::<f16>().map_err(runtime_error)?;
                halves = numbers.iter().map(|x| x.to_f32()).collect::<Vec<_>>();
                (shape, &halves[..])
            }
        };
        let failed = |what: String| {
            let what = format!("{}: {what}", self.output.to_string_lossy());
            Err(EmbedError::file(&self.folder.graph, what))
        };
        let rows = if self.pooling.is_some() { tokens } else { 1 };
        let width = numbers.len() / rows;
        let fits = match self.pooling {
            Some(_) => shape[..] == [1, tokens as i64, width as i64],
            None => shape[..] == [1, width as i64],
        };
        let is_constant = *self.width.get_or_init(|| width) == width;
        if !fits || !is_constant || !(1..=MAX_WIDTH).contains(&width) {
            let expected = format!("expected {rows} vectors of the same 1 to {MAX_WIDTH} numbers");
            return failed(format!("{expected}, got {shape}"));
        }
        if let (Some(stated), Some(_)) = (self.folder.modules.width, self.pooling)
            && stated != width
        {
            let expected = format!("expected the {stated} numbers of the pooling module");
            return failed(format!("{expected}, got {width}"));
        }
        let mut embedding = match self.pooling {
            None => numbers.into(),
            Some(pooling) => pooling::pool(pooling, numbers, width),
        };
        let has_direction = !self.folder.modules.normalizes || pooling::normalize(&mut embedding);
        if !has_direction && embedding.iter().all(|x| x.is_finite()) {
            let what = "it gave a vector of zeros, which has no direction";
            return Err(EmbedError::Model(what.into()));
        }
        Ok(embedding)
    }
}

impl Backend for OnnxModel {
    fn embed_ids(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding> {
        if ids.is_empty() {
            return Err(EmbedError::Model("a text has no tokens, not even special ones".into()));
        }
        interruptible(cancel, |options| self.embed(ids, options))
    }
}

impl Input {
    fn of(outlet: &Outlet) -> Result<Self, String> {
        let name = outlet.name();
        let (_, value) = INPUTS.into_iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let known = INPUTS.map(|(name, _)| name).join(", ");
            format!("input {name}: expected only {known}")
        })?;
        let (ty, shape) = tensor(outlet, "input")?;
        let is_narrow = match ty {
            TensorElementType::Int64 => false,
            TensorElementType::Int32 => true,
            _ => return Err(format!("input {name}: expected int64 or int32, got {ty}")),
        };
        if !matches!(shape, [-1 | 1, -1]) {
            let expected = "expected the shape [batch, tokens] of any length";
            return Err(format!("input {name}: {expected}, got {shape:?}"));
        }
        let name = CString::new(name).map_err(|error| error.to_string())?;
        Ok(Self { name, value, is_narrow })
    }
}

/// Returns the element type and the shape of a tensor. Free dimensions are -1.
fn tensor<'o>(outlet: &'o Outlet, what: &str) -> Result<(TensorElementType, &'o [i64]), String> {
    match outlet.dtype() {
        ValueType::Tensor { ty, shape, .. } => Ok((*ty, shape)),
        other => Err(format!("{what} {}: expected a tensor, got {other}", outlet.name())),
    }
}

/// Returns the name of the output, and whether it is pooled.
fn choose_output(outputs: &[Outlet], folder: &CustomFolder) -> Result<(String, bool), String> {
    const POOLED: &str = "sentence_embedding";
    const OF_TOKENS: [&str; 2] = ["last_hidden_state", "token_embeddings"];
    let known = match &folder.options.output {
        Some(name) => vec![name.as_str()],
        None if folder.options.pooling.is_some() => [&OF_TOKENS[..], &[POOLED]].concat(),
        None => [&[POOLED], &OF_TOKENS[..]].concat(),
    };
    let find = |name: &&str| outputs.iter().find(|output| output.name() == *name);
    let output = known.iter().find_map(find).ok_or_else(|| {
        let found: Vec<_> = outputs.iter().map(Outlet::name).collect();
        let how =
            if folder.options.output.is_some() { "" } else { "; the option output names another" };
        format!("expected an output {}, got {}{how}", known.join(" or "), found.join(", "))
    })?;
    let name = output.name();
    let (ty, shape) = tensor(output, "output")?;
    if !matches!(ty, TensorElementType::Float32 | TensorElementType::Float16) {
        return Err(format!("output {name}: expected float32 or float16, got {ty}"));
    }
    let width_fits = |width: i64| width == -1 || (1..=MAX_WIDTH as i64).contains(&width);
    match *shape {
        [_, width] if width_fits(width) && !OF_TOKENS.contains(&name) => Ok((name.into(), true)),
        [_, _, width] if width_fits(width) && name != POOLED => Ok((name.into(), false)),
        _ => {
            let expected = if name == POOLED { "[batch, width]" } else { "[batch, tokens, width]" };
            Err(format!(
                "output {name}: expected {expected} with a width of 1 to {MAX_WIDTH}, got {shape:?}"
            ))
        }
    }
}

/// Runs a session until it ends or the text is cancelled.
fn interruptible(
    cancel: &CancelToken,
    embed: impl FnOnce(&RunOptions<NoSelectedOutputs>) -> Result<Embedding>,
) -> Result<Embedding> {
    let options = Arc::new(RunOptions::new().map_err(runtime_error)?);
    let running = options.clone();
    // `terminate` fails only for null pointers.
    let interrupt = move || drop(running.terminate());
    match cancel.interruptible(interrupt, || embed(&options)) {
        Some(result) if !cancel.is_cancelled() => result,
        _ => Err(EmbedError::Cancelled),
    }
}

fn session_builder(environment: &Environment, threads: usize) -> ort::Result<SessionBuilder> {
    Ok(Session::builder(environment)?
        .with_log_level(LogLevel::Fatal)?
        .with_intra_threads(threads)?
        // Threads spin between the operations of a run, and stop with it.
        .with_intra_op_spinning(true)?
        .with_config_entry("session.force_spinning_stop", "1")?
        // A plan for each length of texts takes memory and saves no time.
        .with_memory_pattern(false)?)
}

/// Runs a session and returns one of its outputs.
///
/// `Session::run` needs `&mut self`, for execution providers that are not thread-safe. The C API documents `Run` as safe
/// to call concurrently on one session, and the CPU provider, the only one here, is thread-safe.
fn run_session(
    session: &Session,
    options: &RunOptions<NoSelectedOutputs>,
    inputs: &[(&CStr, DynValue)],
    output: &CStr,
) -> Result<DynValue> {
    let inputs = inputs.iter().map(|(name, value)| (name.as_ptr(), value.ptr()));
    let (names, inputs): (Vec<_>, Vec<_>) = inputs.unzip();
    let mut made = ptr::null_mut();
    // SAFETY: the arrays have the given lengths, and values of the session's types; ONNX Runtime makes an output
    // that is null.
    let status = unsafe {
        (ort::api().Run)(
            session.ptr().cast_mut(),
            options.ptr(),
            names.as_ptr(),
            inputs.as_ptr(),
            inputs.len(),
            &output.as_ptr(),
            1,
            &mut made,
        )
    };
    // SAFETY: the status comes from the call above and is used once.
    unsafe { ort::Error::result_from_status(status) }.map_err(runtime_error)?;
    let made = NonNull::new(made).ok_or_else(|| EmbedError::Model("it gave no output".into()))?;
    // SAFETY: the value comes from the call above and has no other owner.
    Ok(unsafe { DynValue::from_ptr(made, Some(session.allocator())) })
}

fn runtime_error(error: ort::Error) -> EmbedError {
    EmbedError::Runtime(error.to_string())
}
