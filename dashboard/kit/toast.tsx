import { useEffect } from 'preact/hooks'
import { Kept } from '../api/kept.ts'
import { useKept } from '../api/use-kept.ts'
import { Button } from './button.tsx'

interface Said {
  text: string
  /** Takes back what was done. */
  undo?: (() => unknown) | undefined
}

/** Milliseconds that it stays; with a way back longer, since that may be wanted. */
const STAYS = 6000
const STAYS_WITH_UNDO = 30_000

const said = new Kept<Said | undefined>(undefined)

/** Says in passing that something is done, and lets it be taken back. */
export function say(text: string, undo?: () => unknown): void {
  said.value = { text, undo }
}

export function Toast() {
  const now = useKept(said)
  useEffect(() => {
    if (!now) return
    const timer = setTimeout(() => close(now), now.undo ? STAYS_WITH_UNDO : STAYS)
    return () => clearTimeout(timer)
  }, [now])
  const undo = (it: Said) => {
    close(it)
    return it.undo?.()
  }
  return (
    <div class="toast" role="status">
      {now && (
        <div class="said">
          <span>{now.text}</span>
          {now.undo && (
            <Button look="link" onClick={() => undo(now)}>
              Undo
            </Button>
          )}
          <Button look="link" onClick={() => close(now)}>
            Close
          </Button>
        </div>
      )}
    </div>
  )
}

/** Unless something else is said by now. */
function close(it: Said): void {
  if (said.value === it) said.value = undefined
}
