import assert from 'node:assert/strict'
import { type Api, HOUR_MS, MINUTE_MS } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { toManifest } from './content.ts'

export const RATES = { RATE_ANONYMOUS: '5', RATE_FREE: '60', RATE_HOBBY: '200', RATE_SIGN_IN: '60' }

/** Moves the clock to a quarter past the next hour, in which no requests are counted yet. */
export function nextHour({ clock }: Api): void {
  clock.now = (Math.floor(clock.now / HOUR_MS) + 1) * HOUR_MS + 15 * MINUTE_MS
}

export const manifest = { files: toManifest({ 'index.html': 'hello' }) }

/** Publishes without a key from an address, through one proxy. */
export function publishFrom(api: Api, address: string): Promise<ApiResponse> {
  return api.request('POST', '/api/v1/publish', { headers: { 'x-forwarded-for': address }, json: manifest })
}

export const readLimit = ({ headers }: ApiResponse) => Number(headers['x-ratelimit-limit'])
export const readRemaining = ({ headers }: ApiResponse) => Number(headers['x-ratelimit-remaining'])
export const readReset = ({ headers }: ApiResponse) => Number(headers['x-ratelimit-reset'])

let hosts = 0
/** A new client address. */
export const newAddress = () => `198.51.${100 + Math.floor(++hosts / 250)}.${hosts % 250}`

/** Uses up the rate limit of an address. */
export async function exhaust(api: Api, address: string): Promise<void> {
  for (let round = 0; round < 5; round++) assert.equal((await publishFrom(api, address)).status, 201)
  assert.equal((await publishFrom(api, address)).status, 429)
}
