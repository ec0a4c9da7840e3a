import { useState } from 'preact/hooks'
import { onOtherUser } from '../api/session.ts'

const kept = new Map<string, unknown>()
onOtherUser(() => {
  kept.clear()
  confirmUnloadOfInput()
})

/**
 * What was typed and not sent, and a function that replaces it, or forgets it. It outlives its view, until another user
 * signs in; the browser asks before it closes or reloads the page.
 */
export function useKeptInput<T>(key: string): [T | undefined, (value: T | undefined) => void] {
  const [value, show] = useState(kept.get(key) as T | undefined)
  const keep = (value: T | undefined) => {
    if (value === undefined) kept.delete(key)
    else kept.set(key, value)
    confirmUnloadOfInput()
    show(() => value)
  }
  return [value, keep]
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
