import { MAX_REVIEWER_NAME_LENGTH } from '../../protocol/api/reviews.ts'
import { browser } from '../api/browser-storage.ts'
import { Signal } from '../api/signal.ts'

const STORED = 'slipway.reviewer'

/** How a reviewer without an account calls itself, in this browser. */
export const reviewerName = new Signal((browser.read(STORED) ?? '').slice(0, MAX_REVIEWER_NAME_LENGTH))

export function rememberName(name: string): void {
  reviewerName.value = name
  browser.write(STORED, name.trim() || null)
}
