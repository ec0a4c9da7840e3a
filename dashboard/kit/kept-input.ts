import { useState } from 'preact/hooks'
import { onOtherUser } from '../api/session.ts'

const kept = new Map<string, unknown>()
onOtherUser(dropAllKeptInput)

type Change<T> = (now: T | undefined) => T | undefined

/**
 * What was typed and not sent, and a function that changes it, or forgets it, and returns what is left. It outlives its
 * view, until another user signs in; the browser asks before it closes or reloads the page.
 */
export function useKeptInput<T>(key: string): [T | undefined, (change: Change<T>) => T | undefined] {
  const [value, show] = useState(kept.get(key) as T | undefined)
  const keep = (change: Change<T>) => {
    const value = change(kept.get(key) as T | undefined)
    if (value === undefined) kept.delete(key)
    else kept.set(key, value)
    confirmUnloadOfInput()
    show(() => value)
    return value
  }
  return [value, keep]
}

/** Empties an input whose text was sent, unless the user has changed it since. */
export function withoutSent<T>(sent: T, empty: T): (now: T) => T {
  return (now) => (now === sent ? empty : now)
}

/** Forgets what was typed about a site; the returned function brings it back, beneath what was typed since, or under another slug. */
export function dropKeptInput(slug: string): (to?: string) => void {
  const dropped = [...kept].filter(([key]) => key.split('/')[1] === slug)
  for (const [key] of dropped) kept.delete(key)
  confirmUnloadOfInput()
  return (to = slug) => {
    for (const [key, value] of dropped) {
      const moved = key.split('/').with(1, to).join('/')
      if (!kept.has(moved)) kept.set(moved, value)
    }
    confirmUnloadOfInput()
  }
}

export function hasAnyKeptInput(): boolean {
  return kept.size > 0
}

/** Forgets all that was typed and not sent. */
export function dropAllKeptInput(): void {
  kept.clear()
  confirmUnloadOfInput()
}

export function hasKeptInput(key: string): boolean {
  return kept.has(key)
}

function confirmUnloadOfInput(): void {
  if (kept.size > 0) addEventListener('beforeunload', confirmUnload)
  else removeEventListener('beforeunload', confirmUnload)
}

function confirmUnload(event: BeforeUnloadEvent): void {
  event.preventDefault()
}
