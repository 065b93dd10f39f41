const SIGN_OF_LIFE_MS = 15_000

/**
 * Says what happens, how long it may take, every 15 s how long it has taken, and at the end how long it took. Whole
 * lines, as several steps may run at once.
 */
export async function step<T>(what: string, estimate: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  const seconds = () => `${((performance.now() - start) / 1000).toFixed(1)} s`
  say(`  ${what} (${estimate}) …`)
  const timer = setInterval(() => say(`  ${what}: ${seconds()} so far`), SIGN_OF_LIFE_MS)
  try {
    const result = await work()
    say(`  ${what}: done in ${seconds()}`)
    return result
  } catch (error) {
    say(`  ${what}: failed after ${seconds()}`)
    throw error
  } finally {
    clearInterval(timer)
  }
}

export const say = (line: string): void => void process.stderr.write(`${line}\n`)
