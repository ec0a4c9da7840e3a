import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface Looks {
  /** `main` for the one thing to do here, `danger` for what cannot be undone, `link` within text. Default `plain`. */
  look?: 'main' | 'plain' | 'danger' | 'link'
  icon?: IconName
  children: ComponentChildren
}

interface ButtonProps extends Looks {
  /** Without it the button sends the form that it is in. */
  onClick?: () => unknown
  /** Whether it works just now: it stays where the keyboard is, and does nothing. */
  busy?: boolean
  /** What it does, where its words alone do not say of what. */
  label?: string
  class?: string
}

export function Button({
  look = 'plain',
  icon,
  busy = false,
  label,
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const click = (event: Event) => {
    if (busy) event.preventDefault()
    else void onClick?.()
  }
  return (
    <button
      type={onClick ? 'button' : 'submit'}
      class={`button ${look} ${rest.class ?? ''}`}
      aria-disabled={busy}
      aria-label={label}
      onClick={click}
    >
      {icon && <Icon name={icon} size={18} />}
      {children}
    </button>
  )
}

interface ButtonLinkProps extends Looks {
  href: string
  /** Opens beside this page. */
  outside?: boolean
  download?: boolean
  label?: string
}

/** What looks like a button and leads somewhere. */
export function ButtonLink({
  look = 'plain',
  icon,
  outside,
  label,
  children,
  href,
  download,
}: ButtonLinkProps) {
  const target = outside ? { target: '_blank', rel: 'noreferrer' } : {}
  return (
    <a href={href} download={download} class={`button ${look}`} aria-label={label} {...target}>
      {icon && <Icon name={icon} size={18} />}
      {children}
    </a>
  )
}
