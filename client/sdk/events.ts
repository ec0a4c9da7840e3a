import type { DomainRecord } from '../wire.ts'
import { SlipwayError } from './slipway-error.ts'

/** What a server sends in a stream of events. */
export interface ServerEvent {
  type: string
  data: string
}

/** Characters of one event that are taken. */
const MOST_CHARACTERS = 2 ** 20

/** The events of a `text/event-stream` as they come (WHATWG HTML, 9.2.6); one that is not complete at the end is none. */
export async function* eventsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let event = blank()
  let rest = ''
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    for (const line of lines) {
      if (line !== '') add(event, line)
      else {
        if (event.data.length > 0) yield { type: event.type || 'message', data: event.data.join('\n') }
        event = blank()
      }
    }
    if (rest.length + event.size > MOST_CHARACTERS)
      throw new SlipwayError('The server sends an event that is too long', { code: 'BAD_ANSWER' })
  }
}

/** The records in the events of a domain. NOT_FOUND when it is removed. */
export async function* recordsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<DomainRecord> {
  for await (const { type, data } of eventsOf(bytes)) {
    if (type === 'gone')
      throw new SlipwayError('There is no such domain any more', { code: 'NOT_FOUND', status: 404 })
    if (type === 'domain') yield JSON.parse(data) as DomainRecord
  }
}

interface Growing {
  type: string
  data: string[]
  size: number
}

function blank(): Growing {
  return { type: '', data: [], size: 0 }
}

function add(event: Growing, line: string): void {
  const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
  event.size += line.length
  if (name === 'event') event.type = value
  if (name === 'data') event.data.push(value)
}
