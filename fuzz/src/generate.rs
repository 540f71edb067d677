//! Would-be traces out of the fuzzer's bytes. Most fields are as they should be, or none would be
//! reached behind the first odd one.

use arbitrary::{Arbitrary, Result, Unstructured};
use knowledgepulse_scoring::trace::Type;

use crate::value::{Fault, Object, Value};

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

/// How a value is made that fits.
type Usual<G> = fn(&mut G) -> Result<Value>;

/// A property's value, or what its getter throws.
type Property = std::result::Result<Value, Fault>;

pub struct Generator<'u, 'b> {
    pub bytes: &'u mut Unstructured<'b>,
    /// Each fault gets a number of its own.
    faults: Fault,
}

impl<'u, 'b> Generator<'u, 'b> {
    pub fn new(bytes: &'u mut Unstructured<'b>) -> Self {
        Self { bytes, faults: 0 }
    }

    fn fault(&mut self) -> Fault {
        self.faults += 1;
        self.faults
    }

    /// What `usual` makes, or sometimes anything, or a fault.
    fn mostly(&mut self, usual: impl FnOnce(&mut Self) -> Result<Value>) -> Result<Property> {
        Ok(match u8::arbitrary(self.bytes)? {
            0..=243 => Ok(usual(self)?),
            244..=251 => Ok(self.odd()?),
            252..=253 => Ok(self.broken()?),
            _ => Err(self.fault()),
        })
    }

    fn broken(&mut self) -> Result<Value> {
        let kind = *self.bytes.choose(&[Type::String, Type::Number, Type::Boolean])?;
        Ok(Value::Broken(kind, self.fault()))
    }

    fn odd(&mut self) -> Result<Value> {
        Ok(match self.bytes.int_in_range(0..=9)? {
            0 => Value::Undefined,
            1 => Value::Null,
            2 => Value::Boolean(bool::arbitrary(self.bytes)?),
            3 => Value::Number(self.number()?),
            4 => Value::String(self.text()?),
            5 => Value::Other,
            6 => Value::object(vec![]),
            7 => Value::array(vec![]),
            8 => Value::Object(Object {
                is_array: Err(self.fault()),
                length: Ok(0),
                properties: vec![],
                elements: vec![],
            }),
            _ => self.object(&[("name", Self::string)])?,
        })
    }

    fn object(&mut self, fields: &[(&'static str, Usual<Self>)]) -> Result<Value> {
        let field = |(name, usual): &(&'static str, _)| Ok((*name, self.mostly(usual)?));
        Ok(Value::object(fields.iter().map(field).collect::<Result<_>>()?))
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

    fn string(&mut self) -> Result<Value> {
        self.text().map(Value::String)
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

    fn nothing_or(&mut self, usual: Usual<Self>) -> Result<Value> {
        match u8::arbitrary(self.bytes)? % 4 {
            0 => Ok(Value::Undefined),
            1 => Ok(Value::Null),
            _ => usual(self),
        }
    }

    fn step(&mut self) -> Result<Value> {
        self.object(&[
            ("type", Self::string),
            ("content", |g| g.nothing_or(Self::string)),
            ("tool", |g| {
                g.nothing_or(|g| {
                    g.object(&[("name", |g| match bool::arbitrary(g.bytes)? {
                        false => g.string(),
                        true => Ok(Value::Undefined),
                    })])
                })
            }),
        ])
    }

    /// An array of steps, some of them several times, or a proxy of one.
    fn steps(&mut self) -> Result<Value> {
        let mut elements = Vec::new();
        for _ in 0..self.bytes.int_in_range(0..=12)? {
            let step = self.mostly(Self::step)?;
            let times = [1, 1, 1, 1, 2, 3, 4, 25][usize::from(u8::arbitrary(self.bytes)? % 8)];
            // The fault of a getter is the same each time.
            elements.extend((0..times).map(|_| step.clone()));
        }
        let mut value = Value::array(elements);
        if let Value::Object(array) = &mut value {
            let odd = u8::arbitrary(self.bytes)?;
            match odd {
                250 => array.is_array = Ok(false),
                251 => array.is_array = Err(self.fault()),
                252 => array.length = Err(self.fault()),
                253 => array.length = Ok(u32::arbitrary(self.bytes)?),
                254 => array.length = Ok(u32::MAX),
                _ => {}
            }
        }
        Ok(value)
    }

    /// Something that is nearly, or quite, a trace.
    pub fn trace(&mut self) -> Result<Value> {
        let usual = |g: &mut Self| {
            g.object(&[
                ("metadata", |g| {
                    g.object(&[
                        ("task_domain", Self::string),
                        ("success", |g| bool::arbitrary(g.bytes).map(Value::Boolean)),
                    ])
                }),
                ("outcome", |g| g.object(&[("confidence", |g| g.number().map(Value::Number))])),
                ("task", |g| g.object(&[("objective", Self::string)])),
                ("steps", Self::steps),
                ("id", |g| g.nothing_or(Self::string)),
            ])
        };
        // Nobody throws before there is an object to ask.
        self.mostly(usual).map(|root| root.unwrap_or(Value::Other))
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
