import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

// Preloaded into the processes of a service by a test: each logs the connections that it accepts, by remote port.
subscribe('net.server.socket', (message) => {
  const { socket } = message as { socket: Socket }
  process.stdout.write(`${JSON.stringify({ connection: socket.remotePort, process: process.pid })}\n`)
})
