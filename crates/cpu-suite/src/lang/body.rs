//! The function under construction: arguments, memory and loops.
//!
//! Keeps one invariant: every block is filled in one go and ended by exactly one branch, so the function verifies.

use std::cell::{Cell, RefCell};

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self, AbiParam, Block, BlockArg, ExtFuncData, ExternalName, Function, InsertBuilder, InstBuilder,
    MemFlagsData, Signature, Type, UserExternalName, UserFuncName, types,
};
use cranelift_codegen::isa::CallConv;

use super::value::Value;
use crate::dtype::Dtype;

/// A function of the C library that kernels may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryFunction {
    /// `float tanhf(float)`
    TanhF32,
    /// `double tanh(double)`
    TanhF64,
}

impl LibraryFunction {
    /// All of them; the n-th is declared as function n + 1 of every module, so its name in the text is always the same.
    pub const ALL: [Self; 2] = [Self::TanhF32, Self::TanhF64];

    /// The symbol.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::TanhF32 => "tanhf",
            Self::TanhF64 => "tanh",
        }
    }

    /// Its signature under a calling convention.
    #[must_use]
    pub fn signature(self, call_conv: CallConv) -> Signature {
        let number = match self {
            Self::TanhF32 => types::F32,
            Self::TanhF64 => types::F64,
        };
        let mut signature = Signature::new(call_conv);
        signature.params.push(AbiParam::new(number));
        signature.returns.push(AbiParam::new(number));
        signature
    }
}

/// A kernel under construction.
///
/// The compiled function takes one argument: the address of an array of words, which are the address of the output,
/// the addresses of the inputs, and the sizes.
pub struct Body {
    function: RefCell<Function>,
    block: Cell<Block>,
    words: ir::Value,
    dtype: Dtype,
    inputs: usize,
}

impl Body {
    /// Starts a kernel with so many inputs.
    #[must_use]
    pub fn new(dtype: Dtype, inputs: usize, call_conv: CallConv) -> Self {
        let mut function =
            Function::with_name_signature(UserFuncName::user(0, 0), Self::signature(call_conv));
        let entry = function.dfg.make_block();
        let words = function.dfg.append_block_param(entry, types::I64);
        function.layout.append_block(entry);
        Self { function: RefCell::new(function), block: Cell::new(entry), words, dtype, inputs }
    }

    /// The signature of every kernel.
    #[must_use]
    pub fn signature(call_conv: CallConv) -> Signature {
        let mut signature = Signature::new(call_conv);
        signature.params.push(AbiParam::new(types::I64));
        signature
    }

    /// Ends the kernel and gives its function.
    #[must_use]
    pub fn finish(self) -> Function {
        self.ins(|ins| ins.return_(&[]));
        self.function.into_inner()
    }

    /// The dtype that the kernel is built for.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Scalars in one element.
    #[must_use]
    pub fn lanes(&self) -> i64 {
        i64::from(self.dtype.clif().lane_count())
    }

    pub(super) fn ins<R>(&self, write: impl FnOnce(InsertBuilder<'_, &mut FuncCursor<'_>>) -> R) -> R {
        let mut function = self.function.borrow_mut();
        let mut cursor = FuncCursor::new(&mut function).at_bottom(self.block.get());
        write(cursor.ins())
    }

    pub(super) fn wrap(&self, raw: ir::Value) -> Value<'_> {
        Value { body: self, raw }
    }

    pub(super) fn type_of(&self, raw: ir::Value) -> Type {
        self.function.borrow().dfg.value_type(raw)
    }

    /// A whole number as a size or an index.
    pub fn index(&self, number: i64) -> Value<'_> {
        self.wrap(self.ins(|ins| ins.iconst(types::I64, number)))
    }

    /// A number of a type, in every lane of it.
    pub fn number(&self, of: Type, number: f64) -> Value<'_> {
        let lane = of.lane_type();
        let scalar = match lane {
            types::F32 => self.ins(|ins| ins.f32const(number as f32)),
            types::F64 => self.ins(|ins| ins.f64const(number)),
            // The immediate of a narrow integer is given as unsigned bits.
            types::I32 => self.ins(|ins| ins.iconst(lane, i64::from((number as i32).cast_unsigned()))),
            _ => self.ins(|ins| ins.iconst(lane, number as i64)),
        };
        self.wrap(if of.is_vector() { self.ins(|ins| ins.splat(of, scalar)) } else { scalar })
    }

    /// A number in every lane of an element.
    pub fn element(&self, number: f64) -> Value<'_> {
        self.number(self.dtype.clif(), number)
    }

    /// A number as one scalar of the dtype.
    pub fn scalar(&self, number: f64) -> Value<'_> {
        self.number(self.dtype.clif().lane_type(), number)
    }

    /// A scalar in every lane of an element.
    pub fn spread<'k>(&'k self, scalar: Value<'k>) -> Value<'k> {
        let element = self.dtype.clif();
        if element.is_vector() { self.wrap(self.ins(|ins| ins.splat(element, scalar.raw))) } else { scalar }
    }

    /// An index as one scalar of the dtype.
    pub fn scalar_of<'k>(&'k self, index: Value<'k>) -> Value<'k> {
        let scalar = self.dtype.clif().lane_type();
        self.wrap(self.ins(|ins| ins.fcvt_from_sint(scalar, index.raw)))
    }

    fn word(&self, position: usize) -> Value<'_> {
        // Nothing writes the words while a kernel runs, so loads of them may be merged and hoisted.
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let offset = i32::try_from(position * 8).expect("a kernel has a handful of arguments");
        self.wrap(self.ins(|ins| ins.load(types::I64, flags, self.words, offset)))
    }

    /// The output's address.
    pub fn output(&self) -> Value<'_> {
        self.word(0)
    }

    /// An input's address, counted from 0.
    ///
    /// # Panics
    /// If the kernel has no such input.
    pub fn input(&self, position: usize) -> Value<'_> {
        assert!(position < self.inputs, "input {position} of {}", self.inputs);
        self.word(1 + position)
    }

    /// A size of the case, counted from 0.
    pub fn size(&self, position: usize) -> Value<'_> {
        self.word(1 + self.inputs + position)
    }

    fn address<'k>(&'k self, buffer: Value<'k>, index: Value<'k>) -> Value<'k> {
        buffer + index * i64::from(self.dtype.clif().lane_type().bytes())
    }

    /// Loads the element whose first scalar is at an index; the index is a multiple of the lanes.
    pub fn load<'k>(&'k self, buffer: Value<'k>, index: Value<'k>) -> Value<'k> {
        self.load_as(self.dtype.clif(), buffer, index)
    }

    /// Loads the scalar at an index.
    pub fn load_scalar<'k>(&'k self, buffer: Value<'k>, index: Value<'k>) -> Value<'k> {
        self.load_as(self.dtype.clif().lane_type(), buffer, index)
    }

    fn load_as<'k>(&'k self, of: Type, buffer: Value<'k>, index: Value<'k>) -> Value<'k> {
        let address = self.address(buffer, index);
        self.wrap(self.ins(|ins| ins.load(of, MemFlagsData::trusted(), address.raw, 0)))
    }

    /// Stores an element or a scalar at an index.
    pub fn store<'k>(&'k self, buffer: Value<'k>, index: Value<'k>, value: Value<'k>) {
        let address = self.address(buffer, index);
        self.ins(|ins| ins.store(MemFlagsData::trusted(), value.raw, address.raw, 0));
    }

    /// Calls a function of the C library.
    pub fn call<'k>(&'k self, callee: LibraryFunction, argument: Value<'k>) -> Value<'k> {
        let position = LibraryFunction::ALL.iter().position(|it| *it == callee).expect("all are listed");
        let index = 1 + u32::try_from(position).expect("a handful of functions");
        let reference = {
            let mut function = self.function.borrow_mut();
            let call_conv = function.signature.call_conv;
            let signature = function.import_signature(callee.signature(call_conv));
            let name = function.declare_imported_user_function(UserExternalName { namespace: 0, index });
            function.import_function(ExtFuncData {
                name: ExternalName::user(name),
                signature,
                colocated: false,
                patchable: false,
            })
        };
        let call = self.ins(|ins| ins.call(reference, &[argument.raw]));
        let result = self.function.borrow().dfg.first_result(call);
        self.wrap(result)
    }

    fn new_block(&self, parameters: &[Type]) -> (Block, Vec<ir::Value>) {
        let mut function = self.function.borrow_mut();
        let block = function.dfg.make_block();
        let parameters = parameters.iter().map(|of| function.dfg.append_block_param(block, *of)).collect();
        function.layout.append_block(block);
        (block, parameters)
    }

    /// A loop over `0, step, 2 step, … < end` that carries values along; it tests at its bottom.
    ///
    /// The loop runs at least once: no case has a size of 0. `each` gets the index and the carried values and gives
    /// their next ones; the last ones are the result.
    pub fn repeat<'k, const N: usize>(
        &'k self,
        end: Value<'k>,
        step: i64,
        start: [Value<'k>; N],
        each: impl FnOnce(Value<'k>, [Value<'k>; N]) -> [Value<'k>; N],
    ) -> [Value<'k>; N] {
        let carried: Vec<Type> = start.iter().map(|value| self.type_of(value.raw)).collect();
        let with_index: Vec<Type> = std::iter::once(types::I64).chain(carried.iter().copied()).collect();
        let (inside, inside_values) = self.new_block(&with_index);
        let (after, after_values) = self.new_block(&carried);
        let zero = self.index(0);
        let arguments = arguments(std::iter::once(zero).chain(start));
        self.ins(|ins| ins.jump(inside, &arguments));

        self.block.set(inside);
        let index = self.wrap(inside_values[0]);
        let next = each(index, std::array::from_fn(|i| self.wrap(inside_values[1 + i])));
        let next_index = index + step;
        let more = self.ins(|ins| ins.icmp(IntCC::SignedLessThan, next_index.raw, end.raw));
        let again = self::arguments(std::iter::once(next_index).chain(next));
        let leave = self::arguments(next);
        self.ins(|ins| ins.brif(more, inside, &again, after, &leave));

        self.block.set(after);
        std::array::from_fn(|i| self.wrap(after_values[i]))
    }

    /// The same loop with the test at its top and the body as the first target of the branch.
    ///
    /// Cranelift 0.135 hoists nothing out of a loop written so, and sinks pure values into it: its elaboration pass
    /// leaves the loop when it has visited the exit, which comes before the body. An operator written with it is
    /// slower optimised than not, which is a finding that a suite for switches should hold.
    pub fn repeat_while<'k, const N: usize>(
        &'k self,
        end: Value<'k>,
        step: i64,
        start: [Value<'k>; N],
        each: impl FnOnce(Value<'k>, [Value<'k>; N]) -> [Value<'k>; N],
    ) -> [Value<'k>; N] {
        let carried = start.iter().map(|value| self.type_of(value.raw));
        let with_index: Vec<Type> = std::iter::once(types::I64).chain(carried).collect();
        let (test, values) = self.new_block(&with_index);
        let (inside, _) = self.new_block(&[]);
        let (after, _) = self.new_block(&[]);
        let zero = self.index(0);
        let arguments = arguments(std::iter::once(zero).chain(start));
        self.ins(|ins| ins.jump(test, &arguments));

        self.block.set(test);
        let index = self.wrap(values[0]);
        let carried: [Value<'k>; N] = std::array::from_fn(|i| self.wrap(values[1 + i]));
        let more = self.ins(|ins| ins.icmp(IntCC::SignedLessThan, index.raw, end.raw));
        self.ins(|ins| ins.brif(more, inside, &[], after, &[]));

        self.block.set(inside);
        let next = each(index, carried);
        let next_index = index + step;
        let again = self::arguments(std::iter::once(next_index).chain(next));
        self.ins(|ins| ins.jump(test, &again));

        self.block.set(after);
        carried
    }

    /// A loop over all elements of an output, one store each.
    pub fn each_element<'k>(&'k self, value: impl FnOnce(Value<'k>) -> Value<'k>) {
        self.repeat(self.size(0), self.lanes(), [], |index, []| {
            let result = value(index);
            self.store(self.output(), index, result);
            []
        });
    }
}

fn arguments<'k>(values: impl IntoIterator<Item = Value<'k>>) -> Vec<BlockArg> {
    values.into_iter().map(|value| BlockArg::Value(value.raw)).collect()
}
