import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

const given = new Set<number>()

/**
 * A port of 127.0.0.1 that is free for TCP and UDP, below the ephemeral range, so that no outgoing connection takes it.
 * Each call returns another one: what listens there may start later. Use port 0 wherever that is possible.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000)
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const tcp = createServer()
  const udp = createSocket('udp4')
  try {
    await once(tcp.listen(port, '127.0.0.1'), 'listening')
    udp.bind(port, '127.0.0.1')
    await once(udp, 'listening')
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return false
  } finally {
    tcp.close()
    udp.close()
  }
}
