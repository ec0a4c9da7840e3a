import type { ReviewPlace } from '../../protocol/api/reviews.schema.ts'
import {
  MAX_NEIGHBOUR_LENGTH,
  MAX_PLACE_TEXT_LENGTH,
  MAX_SELECTOR_LENGTH,
  MAX_THREADS,
} from '../../protocol/api/reviews.ts'

// Between the review page and the script in the frame (docs/decisions/051-review.md), over one port. Names, comments,
// tokens and decisions never pass it.

/** A thread as the frame knows it. */
export interface Mark extends Pick<ReviewPlace, 'selector' | 'text' | 'before' | 'after'> {
  id: string
  /** On the mark. */
  label: string
}

/** A click at a place of the window of the frame, in CSS pixels. */
export interface Press extends MouseEventInit {
  type: 'press'
  clientX: number
  clientY: number
}

export type ToFrame =
  | { type: 'mode'; commenting: boolean }
  /** Those of the page that the frame shows. */
  | { type: 'marks'; marks: Mark[] }
  | { type: 'show'; id: string }
  /** CSS pixels. */
  | { type: 'scroll'; left: number; top: number }
  | Press

export type FromFrame =
  | { type: 'ready'; path: string }
  | { type: 'place'; place: ReviewPlace }
  | { type: 'placed'; placed: string[]; missing: string[] }
  | { type: 'open'; id: string }
  /** The user has followed a link, which leads to a page of the site or out of it. */
  | { type: 'link'; isOfSite: boolean }
  /** The user has ended the comment mode. */
  | { type: 'cancel' }

const MAX_PATH_LENGTH = 1025
const ID_LENGTH = 26
/** More in a second end the connection: the script sends a few, and a flood would keep the review page busy. */
const MAX_MESSAGES = 100

export interface FramePort {
  send(message: ToFrame): void
  close(): void
}

/** Connects to the script in a frame that has loaded. `receive` gets valid messages only: the page is hostile. */
export function openPort(frame: HTMLIFrameElement, receive: (message: FromFrame) => void): FramePort {
  const { port1, port2 } = new MessageChannel()
  let [second, count] = [0, 0]
  port1.onmessage = ({ data, timeStamp }) => {
    const now = Math.floor(timeStamp / 1000)
    count = now === second ? count + 1 : 1
    second = now
    if (count > MAX_MESSAGES) return port1.close()
    const message = readMessage(data)
    if (message) receive(message)
  }
  frame.contentWindow?.postMessage('slipway-review', new URL(frame.src).origin, [port2])
  return { send: (message) => port1.postMessage(message), close: () => port1.close() }
}

/** Undefined for a value that the field cannot have. */
type Read = (value: unknown) => unknown

const textOf =
  (max: number): Read =>
  (value) =>
    typeof value === 'string' && value.length <= max ? value : undefined
const readId = textOf(ID_LENGTH)
const readIds: Read = (value) =>
  Array.isArray(value) && value.length <= MAX_THREADS && value.every(readId) ? value : undefined
const readSize: Read = (value) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 100_000 ? value : undefined

const PLACE: Record<keyof ReviewPlace, Read> = {
  path: textOf(MAX_PATH_LENGTH),
  selector: textOf(MAX_SELECTOR_LENGTH),
  text: textOf(MAX_PLACE_TEXT_LENGTH),
  before: textOf(MAX_NEIGHBOUR_LENGTH),
  after: textOf(MAX_NEIGHBOUR_LENGTH),
  width: readSize,
  height: readSize,
}

/** The fields of each message. */
const MESSAGES: Record<FromFrame['type'], Record<string, Read>> = {
  ready: { path: PLACE.path },
  place: { place: (value) => readFields(value, PLACE) },
  placed: { placed: readIds, missing: readIds },
  open: { id: readId },
  link: { isOfSite: (value) => value === true },
  cancel: {},
}

/** Undefined for what is no message of the script, or beyond a bound. */
export function readMessage(data: unknown): FromFrame | undefined {
  const { type } = (data ?? {}) as { type?: unknown }
  if (typeof type !== 'string' || !Object.hasOwn(MESSAGES, type)) return undefined
  const fields = readFields(data, MESSAGES[type as FromFrame['type']])
  return fields && ({ type, ...fields } as FromFrame)
}

/** These fields of an object, and no others. */
function readFields(value: unknown, fields: Record<string, Read>): object | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const read = Object.keys(fields).map((name) => [
    name,
    fields[name]!((value as Record<string, unknown>)[name]),
  ])
  return read.some(([, field]) => field === undefined) ? undefined : Object.fromEntries(read)
}
