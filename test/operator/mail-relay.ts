import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What becomes of a connection to the mail server: it is passed on, ends at once, or meets a server that says this. */
export type Behaviour = 'passes on' | 'hangs up' | 'says nothing' | { says: string; to: RegExp }

/** Stands before a real mail server, so that a test can take it away and bring it back at the same address. */
export interface MailRelay extends AsyncDisposable {
  /** For SLIPWAY_SMTP_URL. */
  url: string
  /** What happens to the next connections, one each; the last one to all that follow. */
  behave(...behaviours: Behaviour[]): void
  connections: number
}

export async function startRelay(target: string): Promise<MailRelay> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let plan: Behaviour[] = ['passes on']
  const relay = {
    url: '',
    connections: 0,
    behave(...behaviours: Behaviour[]) {
      plan = behaviours
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const server = createServer((socket) => {
    relay.connections++
    const behaviour = plan.length > 1 ? plan.shift()! : plan[0]!
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => undefined))
    if (behaviour === 'hangs up') socket.destroy()
    else if (behaviour === 'passes on') passOn(socket, connect(Number(port), hostname))
    else if (behaviour !== 'says nothing') talk(socket, behaviour)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  relay.url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
  return relay
}

function passOn(socket: Socket, upstream: Socket): void {
  upstream.on('error', () => socket.destroy())
  socket.pipe(upstream).pipe(socket)
}

/** A mail server that is content with everything until a command matches. */
function talk(socket: Socket, { says, to }: { says: string; to: RegExp }): void {
  socket.write('220 relay ESMTP\r\n')
  socket.setEncoding('latin1')
  socket.on('data', (command: string) => {
    if (to.test(command)) socket.write(`${says}\r\n`)
    else if (/^EHLO/i.test(command)) socket.write('250-relay\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME\r\n')
    else if (/^DATA/i.test(command)) socket.write('354 go on\r\n')
    else if (/^QUIT/i.test(command)) socket.end('221 bye\r\n')
    else if (!/^(MAIL|RCPT|RSET|AUTH|NOOP)|\r\n\.\r\n$/i.test(command)) return
    else socket.write('250 fine\r\n')
  })
}
