import { Semaphore as BoundedSemaphore, type Overload } from '../../packages/http-server/semaphore.ts'
import { ApiError } from './errors.ts'

/** A semaphore with a bounded queue; more work is rejected with UNAVAILABLE. */
export class Semaphore extends BoundedSemaphore {
  constructor(limits: { running: number; waiting: number }) {
    super(limits, overloaded)
  }
}

/** The error for work beyond a limit. Clients cause it, so that it is not logged. */
export class OverloadError extends ApiError implements Overload {
  override readonly status = 503
  readonly isOverload = true

  constructor() {
    super('UNAVAILABLE', 'The server is busy. Try again shortly.', { retryAfterSeconds: 1, isIsolated: true })
  }
}

export function overloaded(): OverloadError {
  return new OverloadError()
}
