import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { limitCpu, whyNoQuota } from '../../chaos/system/cpu-quota.ts'
import { losePackets, whyNoLoss } from '../../chaos/system/packet-loss.ts'
import { until } from '../helpers/until.ts'

const BUSY = 'for (;;);'

test('a process is held to its share of a core until that is lifted, or the machine says why it cannot be', async () => {
  const why = whyNoQuota()
  if (why !== undefined) {
    expect(() => limitCpu(`paidonce-test-${process.pid}`, process.pid, 0.2)).toThrow()
    return
  }
  const child = spawn(process.execPath, ['-e', BUSY])
  try {
    const name = `paidonce-test-${process.pid}`
    const quota = limitCpu(name, child.pid ?? 0, 0.2)
    await until('it was held up', () => quota.throttled().times > 2)
    expect(quota.throttled().ms).toBeGreaterThan(0)
    quota.lift()
    expect(existsSync(`/sys/fs/cgroup/cpu/${name}`)).toBe(false)
    quota.lift()
  } finally {
    child.kill('SIGKILL')
  }
})

test('packets of a port are lost and sent again, those of another pass, or the machine says why it cannot be', async () => {
  const why = whyNoLoss()
  const echo = async () => {
    const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { server, port: (server.address() as AddressInfo).port }
  }
  const [lossy, sound] = [await echo(), await echo()]
  try {
    if (why !== undefined) {
      expect(() => losePackets([lossy.port], 50, 1_000)).toThrow('nft')
      return
    }
    const loss = losePackets([lossy.port], 20, 25_000)
    const talk = async (port: number) => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      for (let n = 0; n < 6; n++) {
        socket.write('x')
        await once(socket, 'data')
      }
      socket.destroy()
    }
    try {
      await talk(sound.port)
      expect(loss.dropped()).toBe(0)
      while (loss.dropped() === 0) await talk(lossy.port)
    } finally {
      loss.stop()
    }
    expect(() => loss.dropped()).toThrow('nft')
  } finally {
    lossy.server.close()
    sound.server.close()
  }
})
