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
  /** What it is now, learned from the answer to a change; or what becomes of what is known, when anything is. */
  set(value: T | ((known: T) => T)): void
}

interface Remembered {
  value: unknown
  at: number
}

/** Milliseconds for which an answer is good enough when a page is opened again: requests are counted. */
const FRESH = 60_000

const remembered = new Map<string, Remembered>()

/** What is being asked. A change takes it out: an answer to what was asked before may not know of it. */
const asked = new Map<string, Promise<unknown>>()

/** What `load` answers, asked once for each `key` and minute; nothing while the key is undefined. */
export function useResource<T>(key: string | undefined, load: () => Promise<T>): Resource<T> {
  const [, redraw] = useState(0)
  const state = useRef<{ failing: Failing | undefined; loading: boolean }>({
    failing: undefined,
    loading: false,
  })
  const live = useRef(key)
  const draw = () => redraw((count) => count + 1)

  const ask = async (underWay?: Promise<unknown>): Promise<void> => {
    if (key === undefined) return
    const answer = underWay ?? load()
    asked.set(key, answer)
    state.current = { failing: undefined, loading: true }
    draw()
    let failed: Failing | undefined
    try {
      const value = await answer
      if (asked.get(key) === answer) remembered.set(key, { value, at: Date.now() })
    } catch (error) {
      failed = failing(error)
    }
    const isNews = asked.get(key) === answer
    if (isNews) asked.delete(key)
    if (live.current !== key) return
    if (!isNews && !remembered.has(key) && !failed) return ask(asked.get(key))
    state.current = { failing: failed, loading: false }
    draw()
  }

  useEffect(() => {
    live.current = key
    state.current = { failing: undefined, loading: false }
    const known = key === undefined ? undefined : remembered.get(key)
    if (key !== undefined && (!known || Date.now() - known.at > FRESH)) void ask(asked.get(key))
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
    set(change) {
      if (key === undefined) return
      asked.delete(key)
      const known = remembered.get(key)
      if (typeof change !== 'function') remembered.set(key, { value: change, at: Date.now() })
      else if (known) remembered.set(key, { ...known, value: (change as (known: T) => T)(known.value as T) })
      draw()
    },
  }
}

/** Forgets what is known under these keys, or everything: the next who wants it asks. A key stands for those below it, too. */
export function forget(...keys: string[]): void {
  for (const known of [...remembered.keys(), ...asked.keys()]) {
    if (keys.length > 0 && !keys.some((key) => known === key || known.startsWith(`${key}/`))) continue
    remembered.delete(known)
    asked.delete(known)
  }
}
