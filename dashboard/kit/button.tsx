import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface ButtonStyle {
  /** `main` for the primary action, `danger` for an irreversible one, `link` within text. Default `plain`. */
  variant?: 'main' | 'plain' | 'danger' | 'link'
  icon?: IconName
  children: ComponentChildren
}

interface ButtonProps extends ButtonStyle {
  /** Without it the button submits its form. */
  onClick?: () => unknown
  /** Whether it is working: it shows that, keeps focus and ignores clicks. */
  busy?: boolean
  /** Whether it cannot be used now: it keeps focus and ignores clicks. */
  disabled?: boolean
  /** Accessible name, where its text alone is ambiguous. */
  label?: string
  class?: string
}

export function Button({
  variant = 'plain',
  icon,
  busy = false,
  disabled = false,
  label,
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const click = (event: Event) => {
    if (busy || disabled) event.preventDefault()
    else void onClick?.()
  }
  return (
    <button
      type={onClick ? 'button' : 'submit'}
      class={`button ${variant} ${disabled ? 'disabled' : ''} ${rest.class ?? ''}`}
      aria-disabled={busy || disabled}
      aria-busy={busy}
      aria-label={label}
      onClick={click}
    >
      {busy ? <span class="spinner" /> : icon && <Icon name={icon} size={16} />}
      {children}
    </button>
  )
}

interface ButtonLinkProps extends ButtonStyle {
  href: string
  /** Opens in a new tab. */
  outside?: boolean
  download?: boolean
  label?: string
}

/** A link styled as a button. */
export function ButtonLink({
  variant = 'plain',
  icon,
  outside,
  label,
  children,
  href,
  download,
}: ButtonLinkProps) {
  const target = outside ? { target: '_blank', rel: 'noreferrer' } : {}
  return (
    <a href={href} download={download} class={`button ${variant}`} aria-label={label} {...target}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </a>
  )
}
