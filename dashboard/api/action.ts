import { useRef, useState } from 'preact/hooks'
import { type Failing, failing } from './failing.ts'

/** Something that a person sets going: one at a time, and what goes wrong is kept to be shown where it happened. */
export interface Action<Arguments extends unknown[]> {
  (...given: Arguments): Promise<void>
  busy: boolean
  failing: Failing | undefined
  /** Takes the failure away. */
  clear(): void
}

export function useAction<Arguments extends unknown[]>(
  work: (...given: Arguments) => Promise<unknown>,
): Action<Arguments> {
  const [state, show] = useState<{ busy: boolean; failing: Failing | undefined }>({
    busy: false,
    failing: undefined,
  })
  const running = useRef(false)
  const run = async (...given: Arguments) => {
    if (running.current) return
    running.current = true
    show({ busy: true, failing: undefined })
    try {
      await work(...given)
      show({ busy: false, failing: undefined })
    } catch (error) {
      show({ busy: false, failing: failing(error) })
    } finally {
      running.current = false
    }
  }
  return Object.assign(run, state, { clear: () => show({ busy: false, failing: undefined }) })
}

/** What a form does when it is sent: this, and nothing of the browser's. */
export function submitting(work: () => unknown): (event: Event) => void {
  return (event) => {
    event.preventDefault()
    void work()
  }
}
