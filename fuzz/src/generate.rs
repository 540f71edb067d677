//! Would-be traces out of the fuzzer's bytes. Most fields are as they should be, or none would be
//! reached behind the first odd one.

use arbitrary::{Arbitrary, Result, Unstructured};
use serde_json::{Value, json};

/// What makes a difference somewhere, if it is a string.
const TEXTS: [&str; 20] = [
    "thought",
    "tool_call",
    "observation",
    "error_recovery",
    "finance",
    "code",
    "medical",
    "customer_service",
    "default",
    "constructor",
    "__proto__",
    "",
    " ",
    "a",
    "b",
    "Thought",
    "[SEP]",
    "ὈΔΥΣΣΕΎΣ",
    "e\u{301}",
    "漢字 😀",
];

const NUMBERS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    0.5,
    5e-324,
    1.0 - f64::EPSILON / 2.0,
    1.0 + f64::EPSILON,
    -5e-324,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    2.0,
];

/// How a value is made that fits; `None` for a field that is not there.
type Usual<G> = fn(&mut G) -> Result<Option<Value>>;

pub struct Generator<'u, 'b> {
    pub bytes: &'u mut Unstructured<'b>,
}

impl<'u, 'b> Generator<'u, 'b> {
    pub fn new(bytes: &'u mut Unstructured<'b>) -> Self {
        Self { bytes }
    }

    /// What `usual` makes, or sometimes anything.
    fn mostly(
        &mut self,
        usual: impl FnOnce(&mut Self) -> Result<Option<Value>>,
    ) -> Result<Option<Value>> {
        if u8::arbitrary(self.bytes)? <= 243 { usual(self) } else { self.odd() }
    }

    fn odd(&mut self) -> Result<Option<Value>> {
        Ok(match self.bytes.int_in_range(0..=7)? {
            0 => None,
            1 => Some(Value::Null),
            2 => Some(bool::arbitrary(self.bytes)?.into()),
            3 => Some(self.number()?.into()),
            4 => self.string()?,
            5 => Some(json!({})),
            6 => Some(json!([])),
            _ => self.object(&[("name", Self::string)])?,
        })
    }

    fn object(&mut self, fields: &[(&'static str, Usual<Self>)]) -> Result<Option<Value>> {
        let mut members = serde_json::Map::new();
        for (name, usual) in fields {
            let value = self.mostly(usual)?;
            members.extend(value.map(|value| (name.to_string(), value)));
        }
        Ok(Some(members.into()))
    }

    /// A string, a long one now and then.
    pub fn text(&mut self) -> Result<String> {
        Ok(match u8::arbitrary(self.bytes)? {
            0..=199 => (*self.bytes.choose(&TEXTS)?).into(),
            200..=247 => String::arbitrary(self.bytes)?,
            _ => {
                let piece = *self.bytes.choose(&TEXTS)?;
                let times = self.bytes.int_in_range(0..=700)?;
                format!("{piece} ").repeat(times)
            }
        })
    }

    fn string(&mut self) -> Result<Option<Value>> {
        Ok(Some(self.text()?.into()))
    }

    pub fn number(&mut self) -> Result<f64> {
        match u8::arbitrary(self.bytes)? {
            0..=63 => Ok(*self.bytes.choose(&NUMBERS)?),
            64..=79 => f64::arbitrary(self.bytes),
            _ => self.share(),
        }
    }

    /// A number in [0, 1].
    pub fn share(&mut self) -> Result<f64> {
        Ok(f64::from(u32::arbitrary(self.bytes)?) / f64::from(u32::MAX))
    }

    fn nothing_or(&mut self, usual: Usual<Self>) -> Result<Option<Value>> {
        match u8::arbitrary(self.bytes)? % 4 {
            0 => Ok(None),
            1 => Ok(Some(Value::Null)),
            _ => usual(self),
        }
    }

    fn step(&mut self) -> Result<Option<Value>> {
        self.object(&[
            ("type", Self::string),
            ("content", |g| g.nothing_or(Self::string)),
            ("tool", |g| {
                g.nothing_or(|g| {
                    g.object(&[("name", |g| match bool::arbitrary(g.bytes)? {
                        false => g.string(),
                        true => Ok(None),
                    })])
                })
            }),
        ])
    }

    /// An array of steps, some of them several times.
    fn steps(&mut self) -> Result<Option<Value>> {
        let mut elements = Vec::new();
        for _ in 0..self.bytes.int_in_range(0..=12)? {
            let step = self.mostly(Self::step)?.unwrap_or_default();
            let times = [1, 1, 1, 1, 2, 3, 4, 25][usize::from(u8::arbitrary(self.bytes)? % 8)];
            elements.extend(std::iter::repeat_n(step, times));
        }
        Ok(Some(elements.into()))
    }

    /// Something that is nearly, or quite, a trace.
    pub fn trace(&mut self) -> Result<Value> {
        let usual = |g: &mut Self| {
            g.object(&[
                ("metadata", |g| {
                    g.object(&[
                        ("task_domain", Self::string),
                        ("success", |g| Ok(Some(bool::arbitrary(g.bytes)?.into()))),
                    ])
                }),
                ("outcome", |g| g.object(&[("confidence", |g| Ok(Some(g.number()?.into())))])),
                ("task", |g| g.object(&[("objective", Self::string)])),
                ("steps", Self::steps),
                ("id", |g| g.nothing_or(Self::string)),
            ])
        };
        Ok(self.mostly(usual)?.unwrap_or_default())
    }

    /// Weights of domains, most of which sum to 1.
    pub fn profiles(&mut self) -> Result<Vec<(String, [f64; 4])>> {
        let count = self.bytes.int_in_range(0..=3)?;
        (0..count).map(|_| Ok((self.text()?, self.weights()?))).collect()
    }

    fn weights(&mut self) -> Result<[f64; 4]> {
        let parts = [self.share()?, self.share()?, self.share()?, self.share()?];
        let sum: f64 = parts.iter().sum();
        let mut weights = if sum > 0.0 { parts.map(|part| part / sum) } else { [0.25; 4] };
        if u8::arbitrary(self.bytes)? > 230 {
            let at = self.bytes.int_in_range(0..=3)?;
            // Around the tolerance, or anything.
            weights[at] = match bool::arbitrary(self.bytes)? {
                false => self.number()?,
                true => weights[at] + (self.share()? - 0.5) * 4e-9,
            };
        }
        Ok(weights)
    }
}
