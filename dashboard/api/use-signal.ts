import { useEffect, useState } from 'preact/hooks'
import type { Signal } from './signal.ts'

/** Subscribes to the value. */
export function useSignal<T>(signal: Signal<T>): T {
  const [value, show] = useState(signal.value)
  useEffect(() => {
    const look = () => show(() => signal.value)
    look()
    return signal.subscribe(look)
  }, [signal])
  return value
}
