import { connect, createServer, type Socket } from 'node:net'
import { listen } from '../support/listen.ts'

/** What happens to a connection: it is forwarded, closed, left without a response, or gets this reply to a command. */
export type Behavior = 'forwards' | 'hangs up' | 'does not respond' | { reply: string; to: RegExp }

/** A proxy in front of a real mail server, with which a test can make the server fail. */
export interface MailRelay extends AsyncDisposable {
  /** The value of SLIPWAY_SMTP_URL. */
  url: string
  /** Sets the behaviors of the next connections in order; the last one also applies to all that follow. */
  behave(...behaviors: Behavior[]): void
  connections: number
  /** What clients have sent where nothing is forwarded, with the line ends of Unix. */
  received: string
}

/** Without a server, nothing may be forwarded. */
export async function startRelay(target = 'smtp://127.0.0.1:1'): Promise<MailRelay> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let plan: Behavior[] = ['forwards']
  const relay = {
    url: '',
    connections: 0,
    received: '',
    behave(...behaviors: Behavior[]) {
      plan = behaviors
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const server = createServer((socket) => {
    relay.connections++
    const behavior = plan.length > 1 ? plan.shift()! : plan[0]!
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => undefined))
    if (behavior === 'hangs up') socket.destroy()
    else if (behavior === 'forwards') forward(socket, connect(Number(port), hostname))
    else if (behavior !== 'does not respond') serve(socket, behavior, (text) => (relay.received += text))
  })
  relay.url = `smtp://127.0.0.1:${await listen(server)}`
  return relay
}

function forward(socket: Socket, upstream: Socket): void {
  upstream.on('error', () => socket.destroy())
  socket.pipe(upstream).pipe(socket)
}

/** A mail server that accepts every command except the matching one. */
function serve(
  socket: Socket,
  { reply, to }: { reply: string; to: RegExp },
  record: (text: string) => void,
): void {
  socket.write('220 relay ESMTP\r\n')
  socket.setEncoding('latin1')
  socket.on('data', (command: string) => {
    record(command.replaceAll('\r', ''))
    if (to.test(command)) socket.write(`${reply}\r\n`)
    else if (/^EHLO/i.test(command)) socket.write('250-relay\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME\r\n')
    else if (/^DATA/i.test(command)) socket.write('354 continue\r\n')
    else if (/^QUIT/i.test(command)) socket.end('221 bye\r\n')
    else if (!/^(MAIL|RCPT|RSET|AUTH|NOOP)|\r\n\.\r\n$/i.test(command)) return
    else socket.write('250 fine\r\n')
  })
}
