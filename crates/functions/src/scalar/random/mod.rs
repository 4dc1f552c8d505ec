//! Random numbers, strings and UUIDs. They are made a block at a time from a counter that every thread seeds for itself; equal
//! calls in one row are one value only because the planner computes equal expressions once.

mod bits;
mod generator;
mod number;
mod pcg;
mod string;
mod structure;
mod uuid;

pub(crate) use generator::Generator;

use super::simple::Function;
use crate::function::ScalarFunction;

/// Every function of this module.
pub const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("fuzzBits", bits::resolve).with_constants().without_dictionary().random(),
    &Function::new("generateRandomStructure", structure::resolve).with_nulls().of_moment(),
    &Function::new("generateUUIDv4", uuid::resolve).with_nulls().with_constants().never_throws().random(),
    &Function::new("generateUUIDv7", uuid::resolve).with_nulls().with_constants().never_throws().random(),
    &Function::new("rand", number::resolve32).with_nulls().with_constants().never_throws().random(),
    &Function::new("rand32", number::resolve32).with_nulls().with_constants().never_throws().random(),
    &Function::new("rand64", number::resolve64).with_nulls().with_constants().never_throws().random(),
    &Function::new("randBernoulli", number::resolve_distribution).with_constants().random(),
    &Function::new("randBinomial", number::resolve_drawn).with_constants().random(),
    &Function::new("randChiSquared", number::resolve_drawn).with_constants().random(),
    &Function::new("randFisherF", number::resolve_drawn).with_constants().random(),
    &Function::new("randNegativeBinomial", number::resolve_drawn).with_constants().random(),
    &Function::new("randPoisson", number::resolve_drawn).with_constants().random(),
    &Function::new("randStudentT", number::resolve_drawn).with_constants().random(),
    &Function::new("randCanonical", number::resolve_canonical).with_nulls().with_constants().never_throws().random(),
    &Function::new("randConstant", number::resolve_constant).with_nulls().never_throws().of_moment(),
    &Function::new("randExponential", number::resolve_distribution).with_constants().random(),
    &Function::new("randLogNormal", number::resolve_distribution).with_constants().random(),
    &Function::new("randNormal", number::resolve_distribution).with_constants().random(),
    &Function::new("randUniform", number::resolve_distribution).with_constants().random(),
    &Function::new("randomFixedString", string::resolve_fixed).with_constants().random(),
    &Function::new("randomPrintableASCII", string::resolve).with_constants().random(),
    &Function::new("randomString", string::resolve).with_constants().random(),
    &Function::new("randomStringUTF8", string::resolve).with_constants().random(),
];
