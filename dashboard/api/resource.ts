import { useEffect, useRef, useState } from 'preact/hooks'
import { type Failing, failing } from './failing.ts'

/** Something of the server's, as far as this page knows it. */
export interface Resource<T> {
  /** The last that is known of it; undefined before the first answer. */
  value: T | undefined
  /** Why it could not be had, or not again. */
  failing: Failing | undefined
  loading: boolean
  /** Asks again. */
  reload(): void
  /** What it is now, learned from the answer to a change. */
  set(value: T): void
}

interface Remembered {
  value: unknown
  at: number
}

/** Milliseconds for which an answer is good enough when a page is opened again: requests are counted. */
const FRESH = 60_000

const remembered = new Map<string, Remembered>()

/** What `load` answers, asked once for each `key` and minute; nothing while the key is undefined. */
export function useResource<T>(key: string | undefined, load: () => Promise<T>): Resource<T> {
  const [, redraw] = useState(0)
  const state = useRef<{ failing: Failing | undefined; loading: boolean }>({
    failing: undefined,
    loading: false,
  })
  const live = useRef(key)
  const draw = () => redraw((count) => count + 1)

  const ask = async () => {
    if (key === undefined) return
    state.current = { failing: undefined, loading: true }
    draw()
    try {
      const value = await load()
      remembered.set(key, { value, at: Date.now() })
      if (live.current === key) state.current = { failing: undefined, loading: false }
    } catch (error) {
      if (live.current === key) state.current = { failing: failing(error), loading: false }
    }
    if (live.current === key) draw()
  }

  useEffect(() => {
    live.current = key
    state.current = { failing: undefined, loading: false }
    const known = key === undefined ? undefined : remembered.get(key)
    if (key !== undefined && (!known || Date.now() - known.at > FRESH)) void ask()
    return () => {
      live.current = undefined
    }
  }, [key])

  const known = key === undefined ? undefined : remembered.get(key)
  return {
    value: known?.value as T | undefined,
    failing: state.current.failing,
    loading: state.current.loading || (key !== undefined && !known && !state.current.failing),
    reload: () => void ask(),
    set(value) {
      if (key === undefined) return
      remembered.set(key, { value, at: Date.now() })
      draw()
    },
  }
}

/** Forgets what is known under these keys, or everything: the next who wants it asks. A key stands for those below it, too. */
export function forget(...keys: string[]): void {
  for (const known of [...remembered.keys()]) {
    if (keys.length === 0 || keys.some((key) => known === key || known.startsWith(`${key}/`)))
      remembered.delete(known)
  }
}
