import { useEffect, useState } from 'preact/hooks'
import { lazyComponent } from '../app/lazy-component.tsx'
import { Icon } from '../kit/icon.tsx'
import { IS_APPLE, isShortcut } from '../kit/shortcut.ts'

const CommandPalette = lazyComponent('the search', () =>
  import('./command-palette.tsx').then((it) => it.CommandPalette),
)

/** The button that opens the command palette, and its key, Ctrl+K or Command+K. */
export function PaletteButton() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const toggle = (event: KeyboardEvent) => {
      if (!isShortcut(event, 'k')) return
      event.preventDefault()
      // Another dialog waits for an answer.
      setOpen((isOpen) => !isOpen && !document.querySelector('dialog[open]'))
    }
    addEventListener('keydown', toggle)
    return () => removeEventListener('keydown', toggle)
  }, [])
  return (
    <>
      <button
        type="button"
        class="palette-button"
        aria-keyshortcuts={IS_APPLE ? 'Meta+K' : 'Control+K'}
        onPointerEnter={CommandPalette.preload}
        onFocus={CommandPalette.preload}
        onClick={() => setOpen(true)}
      >
        <Icon name="search" size={16} />
        <span class="visually-hidden">Search</span>
        <span aria-hidden="true">
          <kbd>{IS_APPLE ? '⌘K' : 'Ctrl K'}</kbd>
        </span>
      </button>
      {isOpen && <CommandPalette onClose={() => setOpen(false)} />}
    </>
  )
}
