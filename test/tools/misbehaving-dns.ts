import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { freePort } from './port.ts'

/** Record types (RFC 1035, 3.2.2; RFC 3596). */
export const TYPES = { A: 1, CNAME: 5, TXT: 16, AAAA: 28 }

export interface Question {
  name: string
  type: number
  by: 'udp' | 'tcp'
  /** The received message. */
  message: Buffer
}

/** A DNS server whose responses the test builds byte by byte. */
export interface MisbehavingDns extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  address: string
  /** All questions so far. */
  questions: Question[]
  /** Returns response messages; over TCP they get length prefixes. */
  answer: (question: Question) => Buffer[]
  /** Replaces `answer` over TCP: writes arbitrary bytes. */
  stream: ((question: Question, socket: Socket) => void) | undefined
}

export async function startMisbehavingDns(): Promise<MisbehavingDns> {
  const port = await freePort()
  const udp = createSocket('udp4')
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  const sockets = new Set<Socket>()
  const dns: MisbehavingDns = {
    address: `127.0.0.1:${port}`,
    questions: [],
    answer: () => [],
    stream: undefined,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      tcp.close()
      udp.close()
    },
  }
  udp.on('message', (message, from) => {
    for (const answer of respond(dns, message, 'udp')) udp.send(answer, from.port, from.address)
  })
  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.once('data', (data: Buffer) => {
      const message = data.subarray(2)
      if (dns.stream) dns.stream(remember(dns, message, 'tcp'), socket)
      else socket.write(Buffer.concat(respond(dns, message, 'tcp').map(withLength)))
    })
  })
  await once(tcp.listen(port, '127.0.0.1'), 'listening')
  return dns
}

interface Reply {
  id?: number
  /** The name in the question section. */
  name?: string
  /** RFC 1035, 4.1.1. */
  rcode?: number
  truncated?: boolean
  answers?: Buffer[]
  /** The ANCOUNT field. */
  claimed?: number
}

export function reply({ name, type, message }: Question, given: Reply): Buffer {
  const answers = given.answers ?? []
  const header = Buffer.alloc(12)
  header.writeUInt16BE(given.id ?? message.readUInt16BE(0), 0)
  header.writeUInt16BE(0x8180 | (given.truncated ? 0x200 : 0) | (given.rcode ?? 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(given.claimed ?? answers.length, 6)
  const question = Buffer.concat([encodedName(given.name ?? name), Buffer.from([0, type, 0, 1])])
  return Buffer.concat([header, question, ...answers])
}

/** A record with a TTL of one hour. */
export function record(owner: string, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(3600, 4)
  head.writeUInt16BE(data.length, 8)
  return Buffer.concat([encodedName(owner), head, data])
}

export function encodedName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(label, 'latin1'))
  return Buffer.concat([...labels.flatMap((label) => [Buffer.from([label.length]), label]), Buffer.alloc(1)])
}

/** The RDATA of a TXT record: strings of at most 255 bytes. */
export function encodedTexts(...strings: string[]): Buffer {
  return Buffer.concat(strings.flatMap((one) => [Buffer.from([one.length]), Buffer.from(one, 'latin1')]))
}

export function withLength(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}

function respond(dns: MisbehavingDns, message: Buffer, by: Question['by']): Buffer[] {
  return dns.answer(remember(dns, message, by))
}

function remember(dns: MisbehavingDns, message: Buffer, by: Question['by']): Question {
  const labels: string[] = []
  let at = 12
  for (; message[at]! > 0; at += 1 + message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + message[at]!))
  }
  const question = { name: labels.join('.'), type: message.readUInt16BE(at + 1), by, message }
  dns.questions.push(question)
  return question
}
