"""Checkpoints of an earlier process, for golden_test: files, zlib in base64."""

FILES = {
  "formats": {
    "data-00000-of-00001": (
      "eNrrYeQSKUnNK84vSsvJL7ey8ixJLUosyS8SMoGxrKyC8vNLrKx8MgtLM1NcUpPzU1KdEkuSMxwckv"
      "KLivLLU1McHIqzMwsKUlOk7DhEhRiqLLgUEWbqpSSWJOo55+cWFKUWF6emuOak5qbmlQgJczEyCLFx"
      "cAoxCcFpn5tiJaeZcLionKCLYEKeeUCVOamJZakODqkF+SCnFuQk5gEdnJpeCqSKS1ILgEL5xZklmf"
      "lAfnJicgbIF2mZKak5mSWVDg4ZqTkpBhDKUGonI9hXmxiJ8VYPI5eeBwsjAycjz/UVDyoZuQQFBBkZ"
      "JHg5Gbh4ORjYeTlsGIwa3VgZGBgU1F0YQECIHeh5BiVGDqIY3EAGixATB5MSowA8+GCCjMgqQBxVm6"
      "v/D+KK4jAyAjTaIBYm6JZflJtYAgzNxNyCnNRiB4cioMailGKpQHBweRMTWmpcQgI2DGgA09eneiqq"
      "qOsNQwxvQF0P9w8NvPHs3vtJrqplkQe5hLh4OBiFODKhLtcCxhaXvpAmF4dniGuQY4h/kJQsTE5fzz"
      "EkJMjTKTTENVgfJg3SAAB+qwuc"
    ),
    "index": (
      "eNpjYGDjYJRi4mBkkOGLd/ZwdfYO8Pf0C3F08nGN93fycnUOiXcPcgzw4GAXYlD4yKbhZWpToKfFoC"
      "yQWZJalFiSX6Sv5xgSEuTpFBriGqzvGeIa5BjiHxQfHOIY4sohKsQixMTBovGRzfTw4eQZDEDACCJO"
      "LHTfCecc+LRwAwMjUxZDCVyIe9/MuZUcbYx8DIRB+O+GbpVS99sAfYgoow=="
    ),
  },
  "records": {
    "data-00000-of-00001": (
      "eNrrYeQSKUnNK84vSsvJL7ey8ixJLUosyS8SMoGxrKyC8vNLrKx8MgtLM1NcUpPzU1KdEkuSMxwckv"
      "KLivLLU1McHIqzMwsKUlOk7DhEhRiqLLgUEWbqpSSWJOo55+cWFKUWF6emuOak5qbmlQgJczEyCLFx"
      "cAoxCcFpn5tiJSeZcLionKCLYEKeeUCVOamJZakODgX5xZklmfl5QFZOIpBMSk0vBVLFJakFDg6pBf"
      "kgfyQnJmeAfJGWmZKak1lS6eCQkZqTYgChDKW2M4J9tYGRGG91MXLpeLBIMHAy8vzLTX3EyMXAyMgq"
      "yygowMDGKyIoYNMqwsIAAkwMECDEDvQ6gxIjB1EMbiCDRYiJg0mJUQAeeDBBRmQVIM6l47/uHMQVwW"
      "FkBGe0QSxM0C2/KDexBBiQibkFOanFDg5FQI1FKcVSgeDA8iYmrNS4hARsGNAApq/9WzWZqesNQwxv"
      "QF0P9w8NvDHBXTfQVbUs8iCXEBcPB6MQRybU5VrA2OLSF9Lk4vAMcQ1yDPEPkpKFyenrOYaEBHk6hY"
      "a4BuvDpEEaAHvoCI0="
    ),
    "index": (
      "eNpjYGDjYJRi4mBkkOGLd/ZwdfYO8Pf0C3F08nGN93fycnUOiXcPcgzw4GAXYlB4z6bhZWpToKfFoC"
      "yQWZJalFiSX6Sv5xgSEuTpFBriGqzvGeIa5BjiHxQfHOIY4sohKsQixMTBovGezbRhy6QHDEDACCJ0"
      "LWxs4JwDnxZuYGBkymIogQtx75s5t5KjjZGPgTAI/93QrVLqfhsACGwnOA=="
    ),
  },
  "weights": {
    "data-00000-of-00001": (
      "eNq1kU0vA0EYx3caYTt6aMdLZBMHEhIOLeEgG5FRKhoSUUsi4jA6T3Vju7Nmh9Kbu8QnkDg4iA/g7u"
      "TAFxDfwQdwMiuWIKIR5vK8zUz+v/9zjHCnAj8UsuKJum0XFUimhCTjcWbbJSGUbS+6u3sun4Wy4JBn"
      "qlyldEtIKerAKQ133CAAbk2ZXcRoTOC+9z+znCmWnRG1QEIYAi94UANfkQ6MDNJqJkmCvMXF+251lf"
      "hGUf1HRXGr6OubHrB9oBQCEUkNROgqV/haNGzv6RAqCHTbYzqvuBw8Vx1SWgWPj1BaZuVqhBWVo9Y5"
      "eqE6Rc1gHWBrvgUZSWT0JNsMI5POoNTl091AJuVr3jbNafQjs6kkNqddxxaSMFHUjItEP0p/mFzcHj"
      "1cf7fNtV94tzGyGTfnhKwxRanU9yUPtXusFngQWssvziw0Y8wgJulJ49P5St04G7v5W4zRLxiv6t94"
      "/gHjrvfksTCwv36NCU6ZiJjuq/JhvS2cI0PYLDqF0rSzVLJ641kuO+04pWJ+1Sms5OJx9OAZLNsI8w"
      "=="
    ),
    "index": (
      "eNpjYGDjYJRi4mBkkOGLd/ZwdfYO8Pf0C3F08nGN93fycnUOiXcPcgzw4GAXYlC4w6bhZWpToKfFoC"
      "yQWZJalFiSX6Sv5xgSEuTpFBriGqzvGeIa5BjiHxQfHOIY4sohKsQixMTBonGHzbTo204RBiBgBBFy"
      "qxS74ZwDnxZuYGBkymIogQtx75s5t5KjjZGPgTAI/93QrVLqfhsA/MMnOA=="
    ),
  },
}
