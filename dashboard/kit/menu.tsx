import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  name: string
  icon?: IconName
  /** A link, or `onClick` for an action. */
  href?: string
  /** Whether the link downloads. */
  download?: boolean
  /** Whether the link opens in a new tab. */
  outside?: boolean
  onClick?: () => unknown
  danger?: boolean
}

interface MenuProps {
  /** Accessible name of the button. */
  label: string
  /** The text of the button; without it the button is an icon. */
  text?: string
  icon?: IconName
  variant?: 'main' | 'plain' | 'link'
  items: MenuItem[]
}

/** A button with a menu of links and actions: arrow keys move in it, and Escape closes it. */
export function Menu({ label, text, icon = 'more', variant = 'plain', items }: MenuProps) {
  const id = `menu-${useId()}`
  const button = useRef<HTMLButtonElement>(null)
  const box = useRef<HTMLDivElement>(null)
  // A page may have a thousand menus: the items are drawn when one opens.
  const [isOpen, setOpen] = useState(false)
  useLayoutEffect(() => {
    if (!isOpen) return
    place(box.current!, button.current!)
    box.current!.querySelector<HTMLElement>('[role=menuitem]')?.focus({ preventScroll: true })
    const close = () => box.current?.hidePopover()
    addEventListener('scroll', close, { passive: true })
    return () => removeEventListener('scroll', close)
  }, [isOpen])
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button ${variant} ${text ? '' : 'icon-only'}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popovertarget={id}
      >
        <Icon name={icon} size={text ? 16 : 18} />
        {text ?? <span class="visually-hidden">{label}</span>}
        {text && <Icon name="down" size={16} />}
      </button>
      <div
        ref={box}
        id={id}
        class="menu"
        role="menu"
        aria-label={label}
        popover="auto"
        onToggle={(event) => setOpen((event as unknown as ToggleEvent).newState === 'open')}
        onKeyDown={(event) => moveFocus(event, box.current!)}
      >
        {isOpen &&
          items.map((item) => <Item key={item.name} item={item} onDone={() => box.current!.hidePopover()} />)}
      </div>
    </>
  )
}

function Item({ item, onDone }: { item: MenuItem; onDone: () => void }) {
  const { name, icon, href, download, outside, onClick, danger } = item
  const style = { role: 'menuitem', tabIndex: -1, class: `menu-item ${danger ? 'danger' : ''}` } as const
  const content = (
    <>
      {icon && <Icon name={icon} size={16} />}
      {name}
    </>
  )
  if (href === undefined) {
    const act = () => {
      onDone()
      void onClick?.()
    }
    return (
      <button type="button" {...style} onClick={act}>
        {content}
      </button>
    )
  }
  const target = outside ? { target: '_blank', rel: 'noreferrer' } : {}
  return (
    <a href={href} download={download} {...target} {...style} onClick={onDone}>
      {content}
    </a>
  )
}

/** Pixels between the button and its menu. */
const GAP = 4

/** Below the button, or above it where there is no room; inside the window. */
function place(box: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect()
  const { width, height } = box.getBoundingClientRect()
  const below = at.bottom + GAP
  const top = below + height > innerHeight && at.top - GAP - height > 0 ? at.top - GAP - height : below
  const left = Math.max(GAP, Math.min(at.right - width, innerWidth - width - GAP))
  box.style.top = `${top}px`
  box.style.left = `${left}px`
}

function moveFocus(event: KeyboardEvent, box: HTMLElement): void {
  const items = [...box.querySelectorAll<HTMLElement>('[role=menuitem]')]
  const at = items.indexOf(document.activeElement as HTMLElement)
  const next: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: items.length - 1,
  }
  const to = next[event.key]
  if (to !== undefined) {
    event.preventDefault()
    items.at(to % items.length)?.focus()
  } else if (event.key === 'Tab') box.hidePopover()
}
