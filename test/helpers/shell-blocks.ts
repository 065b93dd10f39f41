/** The commands in a document's shell blocks, without comments. */
export const shellBlocks = (markdown: string): string[] =>
  [...markdown.matchAll(/```sh\n([^]*?)```/g)]
    .flatMap(([, block = '']) => block.split('\n'))
    .map((line) => line.replace(/\s+# .*$/, '').trim())
    .filter((line) => line.startsWith('paidonce '))

/** A command's words as a shell splits them; only simple quotes. Without the program's name. */
export const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1)
