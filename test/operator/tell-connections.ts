import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

// Loaded into a service's processes by a test: each says which connections it takes, by the port at the other end.
subscribe('net.server.socket', (message) => {
  const { socket } = message as { socket: Socket }
  process.stdout.write(`${JSON.stringify({ connection: socket.remotePort, process: process.pid })}\n`)
})
