import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { mustRun, run } from '../../dev/parts/run.ts'

/** A file system of its own, so that it can be full without hurting anybody. */
export interface SmallDisk {
  readonly dir: string
  readonly fill: () => Promise<void>
  readonly free: () => void
  readonly freeBytes: () => number
  readonly remove: () => Promise<void>
}

const SIZE = '2G'

/** Also of a run that was killed, which could not do it; Postgres may still hold it then. */
export function releaseSmallDisk(dir: string): void {
  spawnSync('umount', ['-l', dir])
  rmSync(`${dir}.img`, { force: true })
}

/** An ext4 in a file, mounted by loop, for which one has to be root. @returns undefined, and why, where it cannot be */
export async function mountSmallDisk(dir: string): Promise<SmallDisk | { readonly refused: string }> {
  const [image, mounted] = [`${dir}.img`, dir]
  mkdirSync(mounted, { recursive: true })
  await mustRun('truncate', ['-s', SIZE, image])
  for (const [program, ...args] of [
    ['mkfs.ext4', '-q', '-F', '-m', '0', image],
    ['mount', '-o', 'loop', image, mounted],
    ['chmod', '755', mounted],
  ] as const) {
    const { code, output } = await run(program, args)
    if (code !== 0) {
      rmSync(image, { force: true })
      return { refused: `${program}: ${output.trim().split('\n').at(-1) ?? ''}` }
    }
  }
  // Whoever ends this program in the middle leaves no mount behind.
  process.on('exit', () => releaseSmallDisk(dir))
  const ballast = join(mounted, 'ballast')
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(mounted)
    return bavail * bsize
  }
  return {
    ...{ dir: mounted, freeBytes },
    fill: async () => {
      // What others take meanwhile is missing at the end: then once more, smaller.
      for (let tries = 0; tries < 5 && freeBytes() > 0; tries++)
        await run('fallocate', ['-l', String(freeBytes()), `${ballast}-${tries}`])
    },
    free: () => {
      for (let tries = 0; tries < 5; tries++) rmSync(`${ballast}-${tries}`, { force: true })
    },
    remove: async () => {
      await run('umount', [mounted])
      rmSync(image, { force: true })
    },
  }
}
