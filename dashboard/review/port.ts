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

export type ToFrame =
  | { type: 'mode'; commenting: boolean }
  /** Those of the page that the frame shows. */
  | { type: 'marks'; marks: Mark[] }
  | { type: 'show'; id: string }

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

/** Undefined for what is no message of the script, or beyond a bound. */
export function readMessage(data: unknown): FromFrame | undefined {
  if (!isRecord(data)) return undefined
  switch (data.type) {
    case 'ready':
      return isText(data.path, MAX_PATH_LENGTH) ? { type: 'ready', path: data.path } : undefined
    case 'open':
      return isText(data.id, ID_LENGTH) ? { type: 'open', id: data.id } : undefined
    case 'link':
      return { type: 'link', isOfSite: data.isOfSite === true }
    case 'cancel':
      return { type: 'cancel' }
    case 'placed': {
      const { placed, missing } = data
      return areIds(placed) && areIds(missing) ? { type: 'placed', placed, missing } : undefined
    }
    case 'place':
      return readPlace(data.place)
  }
  return undefined
}

function readPlace(place: unknown): FromFrame | undefined {
  if (!isRecord(place)) return undefined
  const { path, selector, text, before, after, width, height } = place
  if (!isText(path, MAX_PATH_LENGTH) || !isText(selector, MAX_SELECTOR_LENGTH)) return undefined
  if (
    !isText(text, MAX_PLACE_TEXT_LENGTH) ||
    !isText(before, MAX_NEIGHBOUR_LENGTH) ||
    !isText(after, MAX_NEIGHBOUR_LENGTH)
  )
    return undefined
  if (!isSize(width) || !isSize(height)) return undefined
  return { type: 'place', place: { path, selector, text, before, after, width, height } }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length <= max
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 100_000
}

function areIds(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MAX_THREADS && value.every((id) => isText(id, ID_LENGTH))
}
