"""Which parts of a multiprocessor a kernel keeps busy: instructions by pipe.

A multiprocessor has four parts, and each of them a pipe of every kind. An instruction
of a warp takes two cycles of that for integers (`alu`) or for products (`fma`), more of
that for memory and exchanges of lanes (`lsu`), and eight of that for what is rare
(`xu`). So the pipe that has most to do says how fast a kernel can be.
"""

import collections
import re
import subprocess
import tempfile
from collections.abc import Mapping

import numpy as np
import nvrtc
from ptx_kernel import Kernel

PIPES = ("alu", "fma", "lsu", "xu", "fp64", "uniform", "control")

# Of PTX: the first pattern that an instruction's name begins with. What only names
# things (mov, cvta, parameters) is none of machine code's.
_PTX = (
  (None, r"mov|cvta|ld\.param|membar"),
  ("fp64", r"(add|sub|mul|fma|div|min|max|setp\.\w+)(\.rn)?\.f64|cvt\S*\.f64"),
  ("xu", r"popc|clz|brev|bfind|div|rem|cvt\S*\.f32"),
  ("fma", r"mul|mad|fma|dp2a|dp4a|(add|sub)(\.rn)?\.f32"),
  ("lsu", r"ld|st|atom|red\.|shfl|match|cp\.async"),
  ("uniform", r"redux"),
  ("control", r"bra|ret|bar"),
  (
    "alu",
    r"add|sub|min|max|abs|neg|and|or|xor|not|lop3|sh[lrf]|prmt|bf[ie]|setp|selp|cvt|vote"
    r"|vabsdiff4",
  ),
)
# Of machine code, likewise.
_SASS = (
  ("uniform", r"U[A-Z]|R2UR|S2UR|REDUX|VOTEU"),
  ("fp64", r"D(ADD|MUL|FMA|SETP|MNMX)|F2F\.F64"),
  ("xu", r"MUFU|POPC|FLO|BREV|[IF]2[IF]\b|FRND"),
  ("fma", r"IMAD|IMUL|IDP|FFMA|FADD|FMUL|HFMA2|HADD2|HMUL2"),
  ("lsu", r"LD[GSL]|ST[GSL]|LD\b|ST\b|ATOM|RED\b|SHFL|MATCH|S2R|CCTL|MEMBAR|LDGDEPBAR"),
  (
    "control",
    r"BRA|BRX|JMP|EXIT|BSSY|BSYNC|BREAK|CALL|RET|WARPSYNC|NOP|BMOV|YIELD|DEPBAR|BAR|LDC"
    r"|ERRBAR|ENDCOLLECTIVE|NANOSLEEP|LEPC|BPT|KILL|ACQBULK",
  ),
  (
    "alu",
    r"IADD|VIADD|LOP3|PLOP3|SHF|SHL|SHR|PRMT|ISETP|SEL|FSEL|IMNMX|VIMNMX|VIADDMNMX|LEA"
    r"|IABS|BMSK|SGXT|P2R|R2P|MOV|CS2R|VABSDIFF|FSETP|FMNMX|VOTE|I2FP|F2FP|I2IP|FCHK"
    r"|ISCADD|LOP|PSETP|R2B|B2R",
  ),
)


def _pipe(name: str, table) -> str | None:
  for pipe, pattern in table:
    if re.match(pattern, name):
      return pipe
  raise ValueError(f"{name}: which pipe does that?")


def of_ptx(counts: Mapping[Kernel, np.ndarray]) -> collections.Counter[str]:
  """How many instructions of warps each pipe does, if machine code were PTX."""
  totals = collections.Counter(dict.fromkeys(PIPES, 0))
  for kernel, numbers in counts.items():
    for line, number in zip(kernel.lines, numbers.tolist()):
      name = re.sub(r"^@!?%?\w+\s+", "", line).split()[0]
      pipe = _pipe(name, _PTX)
      if pipe is not None and number:
        # Two words, two instructions.
        wide = pipe == "alu" and name.endswith("64")
        totals[pipe] += number * (1 + wide)
  return totals


def resources(log: str) -> dict[str, dict[str, int]]:
  """Of each kernel, what a thread takes, by what ptxas says with -v.

  Returns:
    `registers`, and bytes of the `stack` and of `spills`, stored and loaded ones.
  """
  return {
    name: {
      "registers": int(registers),
      "stack": int(stack),
      "spills": int(stored) + int(loaded),
    }
    for name, stack, stored, loaded, registers in re.findall(
      r"entry function '(\w+)' for .*?(\d+) bytes stack frame, (\d+) bytes spill"
      r" stores, (\d+) bytes spill loads\n.*?Used (\d+) registers",
      log,
      re.DOTALL,
    )
  }


class Compiled:
  """The kernels as machine code of sm_90.

  Args:
    source: CUDA C++.

  Attributes:
    ptx: the text that became the machine code.
    resources: of each kernel what a thread takes, as `resources` has it.
  """

  def __init__(self, source: bytes):
    self.ptx, self._cubin, log = nvrtc.compile_with_lines(source, "sm_90")
    self.resources = resources(log)

  def machine_code(self, nvdisasm: str) -> dict[str, list[tuple[int, str]]]:
    """Of each kernel, the instructions: a line of PTX, and the instruction's name."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
      file.write(self._cubin)
      file.flush()
      text = subprocess.run(
        [nvdisasm, "-c", "-gp", file.name], check=True, capture_output=True, text=True
      ).stdout
    kernels = {}
    for part in re.split(r"^\.text\.(?=\w+:$)", text, flags=re.MULTILINE)[1:]:
      kernels[part.partition(":")[0]] = instructions = []
      line = 0
      for number, name in re.findall(
        r'nv_debug_ptx_txt", line (\d+)|/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z]\S*)',
        part,
      ):
        if number:
          line = int(number)
        else:
          instructions.append((line, name))
      # Behind the end lies what lanes do that exchange values while others are
      # elsewhere, which ours never are, and divisions of odd numbers.
      exits = [i for i, (_, name) in enumerate(instructions) if name.startswith("EXIT")]
      del instructions[exits[-1] + 1 :]
    return kernels

  def of_machine_code(
    self, counts: Mapping[Kernel, np.ndarray], nvdisasm: str
  ) -> collections.Counter[str]:
    """How many instructions of warps each pipe does, in kernels made of `ptx`.

    An instruction is done as often as the line of PTX that it came from. Where the last
    compiler unrolled a loop, lines have several copies, and share that: memory and
    exchanges, of which a line is one instruction, tell how many there are.
    """
    totals = collections.Counter(dict.fromkeys(PIPES, 0))
    code = self.machine_code(nvdisasm)
    for kernel, numbers in counts.items():
      instructions = code[kernel.name]
      done = dict(zip(kernel.places, numbers.tolist()))
      copies = self._copies(kernel, instructions)
      for line, name in instructions:
        pipe = _pipe(name, _SASS)
        totals[pipe] += done.get(line, 0) / copies.get(line, 1)
    return totals

  @staticmethod
  def _copies(kernel: Kernel, instructions) -> dict[int, float]:
    """How often the code of each line is there."""
    single = re.compile(
      r"(@\S+\s+)?(ld\.(shared|global)|st\.|shfl|vote|atom|red\.|bar)"
    )
    times = collections.Counter(
      line
      for line, name in instructions
      if re.match(r"LD[GS]|ST[GS]|SHFL|VOTE|ATOM|RED|BAR|WARPSYNC", name)
    )
    copies = {}
    begin = 0
    for end in [*kernel.block_ends, len(kernel.lines)]:
      block = range(begin, end)
      seen = [
        times[kernel.places[i]]
        for i in block
        if single.match(kernel.lines[i]) and times[kernel.places[i]]
      ]
      if seen:
        usual = float(np.median(seen))
        copies.update((kernel.places[i], usual) for i in block)
      begin = end
    return copies
