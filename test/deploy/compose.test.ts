import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { onPath } from '../../dev/parts/prerequisites.ts'
import { run } from '../../dev/parts/run.ts'

const ROOT = join(import.meta.dirname, '..', '..')

const source = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')

test('docker-compose accepts it, with every service', async () => {
  const compose = onPath('docker-compose') ?? 'docker-compose'
  const ran = await run(compose, ['--profile', 'play', '--profile', 'redis', 'config', '--services'], { cwd: ROOT })
  expect(ran).toMatchObject({ code: 0 })
  expect(ran.output.trim().split('\n').sort()).toEqual([
    'api',
    'gateway',
    'grafana',
    'init',
    'kafka',
    'keys',
    'postgres',
    'processor',
    'prometheus',
    'reconciler',
    'redis',
    'registry',
    'simulator',
  ])
})

test('docker-compose refuses it with a mistake in it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-compose-'))
  try {
    writeFileSync(join(dir, 'docker-compose.yml'), source.replace('condition: service_healthy', 'condition: is_well'))
    const ran = await run(onPath('docker-compose') ?? 'docker-compose', ['config', '-q'], { cwd: dir })
    expect(ran.code).not.toBe(0)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

test('every file that it mounts or runs exists', () => {
  expect(existsSync(join(ROOT, source.match(/build: (\w[\w/]+)$/m)?.[1] ?? '', 'Dockerfile'))).toBe(true)
  const files = [...source.matchAll(/\.\/deploy\/[\w./-]+|src\/[\w/-]+\.ts/g)].map(([path]) => path)
  expect(files.length).toBeGreaterThan(7)
  expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('only the gateway is open to other machines', () => {
  const ports = [...source.matchAll(/^ +ports: \['([^']+)'\]$/gm)].map((match) => match[1] ?? '')
  expect(ports).toHaveLength(source.match(/\bports:/g)?.length ?? 0)
  expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual(['8080:8080'])
})

test('images are pinned', () => {
  const images = [...source.matchAll(/image: (\S+)/g)].map((match) => match[1] ?? '')
  expect(images.length).toBeGreaterThan(5)
  for (const image of images) expect(image).toMatch(/:(?!latest$)[\w.]+$/)
})
