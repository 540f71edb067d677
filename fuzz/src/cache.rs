//! The cache in lockstep with a list of everything that is in it.

use std::{sync::Arc, time::Duration};

use arbitrary::{Arbitrary, Result, Unstructured};
use knowledgepulse_scoring::{
    cache::{CacheOptions, Nearest, VectorCache},
    snapshot::{decode, encode},
};

/// The fingerprint in every snapshot.
pub const MODEL: &str = "m";

const DIMENSIONS: [usize; 8] = [1, 2, 3, 5, 16, 17, 33, 384];
const IDS: [&str; 5] = ["a", "b", "", "trace", "👩‍🔬 e\u{301}"];
const MOST_OPERATIONS: usize = 64;
const MOST_FILLED: u8 = 40;

/// A vector, of the right length but for `Raw`.
#[derive(Debug, Arbitrary)]
enum Vector {
    Zero,
    Axis(u8, i8),
    /// Repeated up to the length. Few enough directions that equal ones come up.
    Small(Vec<i8>),
    Floats(Vec<f32>),
    Raw(Vec<f32>),
}

impl Vector {
    fn of(&self, dimensions: usize) -> Vec<f32> {
        let cycle = |numbers: Vec<f32>| {
            let at = |i| numbers.get(i % (numbers.len() + 1)).copied().unwrap_or(0.0);
            (0..dimensions).map(at).collect()
        };
        match self {
            Self::Zero => vec![0.0; dimensions],
            Self::Axis(axis, scale) => {
                let mut vector = vec![0.0; dimensions];
                vector[usize::from(*axis) % dimensions] = f32::from(*scale);
                vector
            }
            Self::Small(numbers) => cycle(numbers.iter().map(|x| f32::from(x % 4)).collect()),
            Self::Floats(numbers) => cycle(numbers.clone()),
            Self::Raw(numbers) => numbers.clone(),
        }
    }
}

#[derive(Debug, Arbitrary)]
enum Operation {
    Add(Vector, Option<u8>),
    /// Many at once, so that the ring grows and goes round.
    Fill(u8, Option<u8>),
    Query(Vector),
    Remove(u8),
    Wait(u16),
    WaitLong(u32, u32),
    Evict,
    Clear,
    /// Into another process, with another clock and other bounds.
    Restart {
        seconds: u32,
        room: u8,
        ttl: Option<u16>,
        wider: bool,
    },
}

fn id(number: u8) -> &'static str {
    IDS[usize::from(number) % IDS.len()]
}

/// A vector that was added.
struct Known {
    vector: Vec<f32>,
    /// As the cache gave it at first; it must stay so to the bit.
    row: Option<Vec<f32>>,
    /// In nanoseconds, negative before a restart.
    added: i128,
    id: Option<&'static str>,
}

/// The cache, and the list beside it.
pub struct Lockstep {
    pub cache: VectorCache,
    pub now: Duration,
    options: CacheOptions,
    known: Vec<Known>,
    /// The most vectors since the memory was given back.
    peak: usize,
}

impl Lockstep {
    /// Runs what the fuzzer's bytes say; `None` where there can be no such cache.
    pub fn run(bytes: &mut Unstructured) -> Result<Option<Self>> {
        let max_elements = match u8::arbitrary(bytes)? {
            255 => usize::MAX,
            room => room.into(),
        };
        let dimensions = *bytes.choose(&DIMENSIONS)?;
        let ttl = Option::<u16>::arbitrary(bytes)?.map(|ms| Duration::from_millis(ms.into()));
        let options = CacheOptions { max_elements, dimensions, ttl };
        let cache = VectorCache::new(options);
        if max_elements == 0 {
            assert_eq!(cache.expect_err("no room").code(), "INVALID_OPTION");
            return Ok(None);
        }
        let cache = cache.expect("a cache");
        let now = Duration::from_millis(u16::arbitrary(bytes)?.into());
        let mut lockstep = Self { cache, now, options, known: Vec::new(), peak: 0 };
        for _ in 0..MOST_OPERATIONS {
            if bytes.is_empty() {
                break;
            }
            lockstep.step(Operation::arbitrary(bytes)?);
            lockstep.compare();
        }
        Ok(Some(lockstep))
    }

    fn step(&mut self, operation: Operation) {
        let dimensions = self.options.dimensions;
        match operation {
            Operation::Add(vector, name) => self.add(&vector.of(dimensions), name.map(id)),
            Operation::Fill(count, name) => {
                for scale in 0..count % MOST_FILLED {
                    let numbers = [scale as i8, (scale / 2) as i8, 1].to_vec();
                    self.add(&Vector::Small(numbers).of(dimensions), name.map(id));
                }
            }
            Operation::Query(vector) => self.query(&vector.of(dimensions)),
            Operation::Remove(name) => {
                self.expire();
                let before = self.known.len();
                self.known.retain(|known| known.id != Some(id(name)));
                let removed = self.cache.remove(id(name), self.now);
                assert_eq!(removed, before - self.known.len());
            }
            Operation::Wait(ms) => self.now += Duration::from_millis(ms.into()),
            Operation::WaitLong(seconds, nanos) => {
                self.now +=
                    Duration::from_secs(seconds.into()) + Duration::from_nanos(nanos.into());
            }
            Operation::Evict => self.cache.evict_expired(self.now),
            Operation::Clear => {
                self.cache.clear();
                assert_eq!(self.cache.memory(), 0);
                self.known.clear();
                self.peak = 0;
            }
            Operation::Restart { seconds, room, ttl, wider } => {
                let ttl = ttl.map(|ms| Duration::from_millis(ms.into()));
                let options = CacheOptions { max_elements: room.into(), ttl, ..self.options };
                self.restart(options, Duration::from_secs(seconds.into()), wider);
            }
        }
    }

    fn expire(&mut self) {
        let (now, ttl) = (self.now.as_nanos() as i128, self.options.ttl);
        let is_alive =
            |known: &Known| ttl.is_none_or(|ttl| now - known.added < ttl.as_nanos() as i128);
        self.known.retain(is_alive);
    }

    /// Whether a vector is refused, and if so, by both questions and with the right words.
    fn refuses(&mut self, vector: &[f32]) -> bool {
        let dimensions = self.options.dimensions;
        let odd = vector.iter().position(|x| !x.is_finite());
        let start = match odd {
            _ if vector.len() != dimensions => {
                format!("Expected {dimensions} dimensions, got {}", vector.len())
            }
            Some(at) => format!("vector[{at}]: expected a finite float32, got "),
            None => return false,
        };
        let error = self.cache.nearest(vector, self.now).expect_err("a vector that is none");
        assert_eq!(error.code(), "INVALID_VECTOR");
        assert!(error.to_string().starts_with(&start), "{error} for {start}");
        assert_eq!(self.cache.add(vector, self.now), Err(error));
        true
    }

    fn add(&mut self, vector: &[f32], id: Option<&'static str>) {
        if self.refuses(vector) {
            return;
        }
        self.cache.add_named(vector, id.map(Arc::from), self.now).expect("a vector");
        self.expire();
        let added = self.now.as_nanos() as i128;
        self.known.push(Known { vector: vector.to_vec(), row: None, added, id });
        self.cut();
        // With a time to live of 0 it is gone already.
        self.expire();
    }

    fn cut(&mut self) {
        let surplus = self.known.len().saturating_sub(self.options.max_elements);
        self.known.drain(..surplus);
        self.peak = self.peak.max(self.known.len());
    }

    fn query(&mut self, query: &[f32]) {
        if self.refuses(query) {
            return;
        }
        self.expire();
        let found = self.cache.nearest(query, self.now).expect("a query");
        // To the bit: each vector is asked in a cache of its own.
        let alone = |known: &Known| {
            let options = CacheOptions { max_elements: 1, ttl: None, ..self.options };
            let mut cache = VectorCache::new(options).expect("a cache");
            cache.add(&known.vector, Duration::ZERO).expect("a vector");
            let similarity = cache.max_cosine_similarity(query, Duration::ZERO).expect("a query");
            (similarity.expect("one vector"), known.id)
        };
        let first = self.known.iter().map(alone).reduce(|a, b| if b.0 > a.0 { b } else { a });
        let expected = first.map(|(similarity, id)| Nearest { similarity, id: id.map(Arc::from) });
        assert_eq!(found, expected);
        let cosines = self.known.iter().map(|known| cosine(&known.vector, query));
        let expected = cosines.reduce(f64::max).unwrap_or(0.0);
        let found = found.map_or(0.0, |nearest| nearest.similarity);
        assert!((-1.0..=1.0).contains(&found), "{found}");
        assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
    }

    fn restart(&mut self, options: CacheOptions, now: Duration, wider: bool) {
        self.expire();
        let bytes = encode(&mut self.cache, MODEL, self.now);
        let snapshot = decode(&bytes, MODEL).expect("what was encoded");
        assert_eq!(snapshot.options(), self.options);
        assert!(decode(&bytes, "another model").is_err());
        if wider {
            let dimensions = options.dimensions + 1;
            let error = snapshot.clone().into_cache(CacheOptions { dimensions, ..options }, now);
            assert_eq!(error.expect_err("other dimensions").code(), "INVALID_SNAPSHOT");
        }
        let restored = snapshot.into_cache(options, now);
        if options.max_elements == 0 {
            assert_eq!(restored.expect_err("no room").code(), "INVALID_OPTION");
            return;
        }
        self.cache = restored.expect("a cache");
        let shift = now.as_nanos() as i128 - self.now.as_nanos() as i128;
        self.known.iter_mut().for_each(|known| known.added += shift);
        (self.options, self.now, self.peak) = (options, now, 0);
        self.cut();
        self.expire();
        assert_eq!(self.cache.options(), options);
    }

    fn compare(&mut self) {
        self.expire();
        assert_eq!(self.cache.len(self.now), self.known.len());
        let entries = self.cache.entries(self.now);
        for (entry, known) in entries.zip(&mut self.known) {
            let age = self.now.as_nanos() as i128 - known.added;
            assert_eq!(entry.age.as_nanos() as i128, age);
            assert_eq!(entry.id.as_deref(), known.id);
            let row = known.row.get_or_insert_with(|| first_row(&known.vector, entry.vector));
            let mut pairs = entry.vector.iter().zip(row.iter());
            let is_same = pairs.all(|(x, y)| x.to_bits() == y.to_bits());
            assert!(is_same, "{:?} was {row:?}", entry.vector);
        }
        let ids: usize = self.known.iter().map(|known| known.id.unwrap_or("").len()).sum();
        let row = self.options.dimensions.next_multiple_of(16) * 4;
        let memory = self.cache.memory();
        assert!(memory >= self.known.len() * row + ids, "{memory} bytes are too few");
        let most = 2 * self.peak.max(16) * (row + 64) + ids;
        assert!(memory <= most, "{memory} bytes are more than {most}");
    }
}

/// The row of a vector that was just added.
fn first_row(vector: &[f32], row: &[f32]) -> Vec<f32> {
    let norm = dot(vector, vector).sqrt();
    assert_eq!(row.len(), vector.len());
    for (row, x) in row.iter().zip(vector) {
        let expected = if norm == 0.0 { 0.0 } else { f64::from(*x) / norm };
        assert!((f64::from(*row) - expected).abs() < 1e-7, "{row} for {expected}");
    }
    row.to_vec()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms == 0.0 { 0.0 } else { dot(a, b) / norms }
}
