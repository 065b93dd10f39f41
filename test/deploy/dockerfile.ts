/** One instruction of a Dockerfile, its arguments still one text. */
export interface Instruction {
  readonly name: string
  readonly text: string
}

/** Reads a Dockerfile's instructions: comments dropped, lines that end in a backslash joined. */
export function instructionsOf(dockerfile: string): Instruction[] {
  return dockerfile
    .replaceAll(/^\s*#.*$/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [name = '', ...rest] = line.split(/\s+/)
      return { name: name.toUpperCase(), text: rest.join(' ') }
    })
}

/** True if a path is left out of the build context; the last pattern that matches it or a folder above it decides. */
export function isIgnored(path: string, dockerignore: string): boolean {
  let ignored = false
  for (const line of dockerignore.split('\n').filter((text) => text.trim() !== '' && !text.startsWith('#'))) {
    const negated = line.startsWith('!')
    const pattern = negated ? line.slice(1) : line
    if (pattern === '*' || path === pattern || path.startsWith(`${pattern}/`)) ignored = !negated
  }
  return ignored
}
