import type { Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { reply, startMisbehavingDns, withLength } from '../tools/misbehaving-dns.ts'

// Runs in its own thread, so that it sends while the test reads. Truncates over UDP; over TCP it sends responses with
// other ids without end.

const dns = await startMisbehavingDns()
dns.answer = (question) => [reply(question, { truncated: true })]
dns.stream = (question, socket) => {
  const other = withLength(reply(question, { id: question.message.readUInt16BE(0) ^ 1 }))
  flood(socket, Buffer.concat(Array.from({ length: 2000 }, () => other)))
}
parentPort!.once('message', () => dns[Symbol.asyncDispose]())
parentPort!.postMessage(dns.address)

function flood(socket: Socket, bytes: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  }
  socket.on('drain', more)
  more()
}
