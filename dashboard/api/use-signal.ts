import { useEffect, useState } from 'preact/hooks'
import type { Signal } from './signal.ts'

/** Subscribes to the value. */
export function useSignal<T>(signal: Signal<T>): T {
  const [value, show] = useState(signal.value)
  useEffect(() => {
    const update = () => show(() => signal.value)
    update()
    return signal.subscribe(update)
  }, [signal])
  return value
}
