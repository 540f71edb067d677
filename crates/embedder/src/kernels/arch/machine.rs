//! The kinds of registers of this machine.

#[cfg(target_arch = "aarch64")]
use super::neon;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{plain::Plain, registers::WithRegisters};

/// One kind of registers that this machine has.
#[derive(Clone, Copy, Debug)]
pub enum Machine {
    /// 512 bits, with a product of bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
    /// 256 bits, with a product of bytes.
    #[cfg(target_arch = "x86_64")]
    AvxVnni(x86::Avx2<true>),
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2<false>),
    /// 128 bits, with a product of bytes.
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
    /// 128 bits in portable code, on every machine.
    Plain(Plain),
}

/// Evaluates an expression with the registers of a [`Machine`].
macro_rules! with_registers {
    ($machine:expr, $registers:ident => $body:expr) => {
        match $machine {
            #[cfg(target_arch = "x86_64")]
            $crate::kernels::arch::Machine::Avx512($registers) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::kernels::arch::Machine::AvxVnni($registers) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::kernels::arch::Machine::Avx2($registers) => $body,
            #[cfg(target_arch = "aarch64")]
            $crate::kernels::arch::Machine::Neon($registers) => $body,
            $crate::kernels::arch::Machine::Plain($registers) => $body,
        }
    };
}
pub(crate) use with_registers;

impl Machine {
    /// Returns the best registers of this machine.
    pub fn detect() -> Self {
        Self::all()[0]
    }

    /// Returns all registers of this machine, the best first.
    pub fn all() -> Vec<Self> {
        [
            #[cfg(target_arch = "x86_64")]
            x86::Avx512::new().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2::new().map(Self::AvxVnni),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2::new().map(Self::Avx2),
            #[cfg(target_arch = "aarch64")]
            neon::Neon::new().map(Self::Neon),
            Some(Self::Plain(Plain)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns whether the int8 kernels are faster than the float ones. On x64 they are so even on plain registers, at
    /// 0.6 of the time, because the float kernels then lack fused multiply-add; on arm64 these always have it.
    pub fn is_int8_faster(self) -> bool {
        cfg!(target_arch = "x86_64") || !matches!(self, Self::Plain(_))
    }

    /// Runs `work`, which is not compiled for the registers except what it passes to [`Registers::call`].
    pub fn run<W: WithRegisters>(self, work: W) {
        with_registers!(self, registers => work.with_registers(registers));
    }
}
