/** Says what happens and how long it may take; a line per step, so that a log of it reads as well as a screen. */
export async function step<T>(what: string, estimate: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  process.stderr.write(`  ${what} (${estimate}) … `)
  try {
    const result = await work()
    process.stderr.write(`${((performance.now() - start) / 1000).toFixed(1)} s\n`)
    return result
  } catch (error) {
    process.stderr.write('failed\n')
    throw error
  }
}

export const say = (line: string): void => void process.stderr.write(`${line}\n`)
