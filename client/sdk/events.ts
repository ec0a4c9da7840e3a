import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { SlipwayError } from './slipway-error.ts'

/** A server-sent event. */
export interface ServerEvent {
  type: string
  data: string
}

/** Maximum number of characters of one event. */
const MAX_EVENT_LENGTH = 2 ** 20

/** Parses a `text/event-stream` (WHATWG HTML, 9.2.6); an incomplete last event is dropped. */
export async function* parseEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let event = emptyEvent()
  let rest = ''
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    for (const line of lines) {
      if (line !== '') addLine(event, line)
      else {
        if (event.data.length > 0) yield { type: event.type || 'message', data: event.data.join('\n') }
        event = emptyEvent()
      }
    }
    if (rest.length + event.size > MAX_EVENT_LENGTH)
      throw new SlipwayError('The server sends an event that is too long', { code: 'BAD_ANSWER' })
  }
}

/** The records in the events of a domain. NOT_FOUND when it is removed. */
export async function* parseRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<DomainRecord> {
  for await (const { type, data } of parseEvents(bytes)) {
    if (type === 'gone') throw new SlipwayError('The domain was removed', { code: 'NOT_FOUND', status: 404 })
    if (type === 'domain') yield parseRecord(data)
  }
}

function parseRecord(data: string): DomainRecord {
  try {
    return JSON.parse(data) as DomainRecord
  } catch (cause) {
    throw new SlipwayError('The server sends an event that is not JSON', { code: 'BAD_ANSWER', cause })
  }
}

interface PartialEvent {
  type: string
  data: string[]
  size: number
}

function emptyEvent(): PartialEvent {
  return { type: '', data: [], size: 0 }
}

function addLine(event: PartialEvent, line: string): void {
  const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
  event.size += line.length
  if (name === 'event') event.type = value
  if (name === 'data') event.data.push(value)
}
