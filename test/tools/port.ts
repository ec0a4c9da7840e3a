import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port of 127.0.0.1 that is free for TCP and UDP, outside the ephemeral range. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000)
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
