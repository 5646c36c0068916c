"""The package's messages in the words of a command line: flags for arguments."""

import re
from collections.abc import Container

# An argument as messages name it, and the flag that gives it.
_FLAG_OF = {
  "Bits": "bits",
  "Channels": "channels",
  "limits: pixels": "max_pixels",
  "limits: scans": "max_scans",
  "source": "input",
  'encoders["jpeg"]["quality"]': "jpeg_quality",
  'encoders["l3-compact"]["effort"]': "l3_effort",
  'encoders["pcr"]["groups"]': "pcr_groups",
  'encoders["pcr"]["images"]': "pcr_images",
  'encoders["png"]["level"]': "png_level",
  'encoders["webp-lossy"]["quality"]': "webp_quality",
}

# Advice that is more than one name and value, by the flag that a command must have.
_ADVICE = (
  ("bits", r"transforms=\[((?:(?:Bits|Channels)\([^)]*\)(?:, )?)+)\]", r"\1"),
  ("bits", r'\bBits\("?(\w+)"?\),?', r"--bits=\1"),
  ("channels", r"\bChannels\((\w+)\),?", r"--channels=\1"),
  ("trials", r"runs=\(TRIALS, SECONDS\)", "--trials and --seconds"),
  ("max_pixels", r"limits=Limits\((pixels|scans)=N\)", r"--max_\1=N"),
  ("max_skipped", r'on_error="skip:([\d.]+%)"', r"--on_error=skip --max_skipped=\1"),
  (
    "image_size",
    r"transforms must have a crop, .* or Ragged\(\) for batches of unequal images",
    "give --crop=HEIGHT,WIDTH or --image_size=HEIGHT,WIDTH",
  ),
  ("runner", r"workers=\[…\]", "--runner"),
)


def argument(text: str, known: Container[str], **renamed: str) -> str:
  """A message that says what is wrong with an argument, for who gave a flag.

  Args:
    text: such as "seed (-1) must be …".
    known: names of the command's flags; other arguments stay as they are.
    **renamed: flags by argument, where their names differ.
  """
  flag_of = {**_FLAG_OF, **renamed}

  def flag(name: str) -> str | None:
    name = flag_of.get(name, name)
    return f"--{name}" if name in known else None

  names = "|".join(map(re.escape, sorted(flag_of, key=len, reverse=True)))
  text = re.sub(
    rf'(?<![-\w./"])({names}|\w+)(?= \()', lambda m: flag(m[1]) or m[1], text
  )
  text = re.sub(r"^\w+(?=: )", lambda m: flag(m[0]) or m[0], text)
  return advice(text, known)


def advice(text: str, known: Container[str]) -> str:
  """A message that says what to give, as 'existing="resume"', for who gives flags.

  Args:
    text: the message.
    known: names of the command's flags.
  """
  for needed, pattern, better in _ADVICE:
    if needed in known:
      text = re.sub(pattern, better, text)

  def given(match: re.Match) -> str:
    name, value = match[1], match[2].strip('"')
    if name not in known:
      return match[0]
    return f"--{name}" if value == "True" else f"--{name}={value}"

  return re.sub(r'(?<![-\w.])(\w+)=("[^"]*"|True|…)', given, text)
