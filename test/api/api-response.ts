import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { pluck } from '../support/pluck.ts'

interface ValidationError {
  details: { field: string }[]
}

/** A response and its request. */
export interface ApiResponse {
  method: string
  /** Path and query of the request. */
  target: string
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests check its fields
  json: any
}

/** Asserts that a request was refused for exactly these fields. */
export function assertInvalid({ json, text }: ApiResponse, ...fields: string[]): void {
  assert.equal(json.code, 'VALIDATION_ERROR', text)
  assert.deepEqual(pluck((json as ValidationError).details, 'field').sort(), fields.sort())
}

/** The requests that the rate limit still allows in this hour. */
export const readRemaining = ({ headers }: ApiResponse) => Number(headers['x-ratelimit-remaining'])
