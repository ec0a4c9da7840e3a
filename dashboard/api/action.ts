import { useRef, useState } from 'preact/hooks'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { type DisplayError, toDisplayError } from './display-error.ts'

/** A user action: one at a time; its error is kept to be shown in place. */
export interface Action<Arguments extends unknown[]> {
  (...given: Arguments): Promise<void>
  busy: boolean
  error: DisplayError | undefined
  /** Clears the error; a running action stays busy. */
  clear(): void
}

export function useAction<Arguments extends unknown[]>(
  work: (...given: Arguments) => Promise<unknown>,
): Action<Arguments> {
  const [state, show] = useState<{ busy: boolean; error: DisplayError | undefined }>({
    busy: false,
    error: undefined,
  })
  const running = useRef(false)
  const run = async (...given: Arguments) => {
    if (running.current) return
    running.current = true
    show({ busy: true, error: undefined })
    try {
      await work(...given)
      show({ busy: false, error: undefined })
    } catch (error) {
      show({ busy: false, error: toDisplayError(error) })
    } finally {
      running.current = false
    }
  }
  const clear = () => void (running.current || show({ busy: false, error: undefined }))
  return Object.assign(run, state, { clear })
}

/** What does not exist any more was removed in another tab, or has expired: that counts as removed. */
export function ignoreGone(error: unknown): void {
  if (!isSlipwayError(error, 'NOT_FOUND', 'SITE_EXPIRED')) throw error
}

/** A submit handler that runs this instead of the browser's submission. */
export function handleSubmit(work: () => unknown): (event: Event) => void {
  return (event) => {
    event.preventDefault()
    void work()
  }
}
