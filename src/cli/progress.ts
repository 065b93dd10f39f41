import { SingleBar } from 'cli-progress'

export interface Progress {
  readonly at: (value: number) => void
  readonly stop: () => void
}

/** A bar on stderr while something long runs; nothing where nobody watches. */
export function createProgress(what: string, total: number): Progress {
  if (!process.stderr.isTTY || total <= 0) return { at: () => undefined, stop: () => undefined }
  const format = `${what} {bar} {percentage} %, {eta_formatted} left`
  const bar = new SingleBar({ format, stream: process.stderr, hideCursor: true, clearOnComplete: true })
  bar.start(total, 0)
  return { at: (value) => bar.update(value), stop: () => bar.stop() }
}

export interface Stages {
  /** @param total null: not known */
  readonly at: (stage: string, done: number, total: number | null) => void
  readonly stop: () => void
}

/** One bar after another. @param guess what a stage of unknown length comes to, about */
export function createStages(guess: number): Stages {
  let [current, bar] = ['', createProgress('', 0)]
  return {
    at: (stage, done, total) => {
      if (stage !== current) {
        bar.stop()
        ;[current, bar] = [stage, createProgress(stage, total ?? guess)]
      }
      bar.at(done)
    },
    stop: () => bar.stop(),
  }
}
