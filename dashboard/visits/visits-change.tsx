interface ChangeProps {
  now: number
  before: number | undefined
  /** The time before, such as "the previous 7 days". */
  than: string
}

/** How a number has changed since the time before; nothing without a number to compare with. */
export function Change({ now, before, than }: ChangeProps) {
  if (!before) return null
  const ratio = now / before - 1
  const text = ratio.toLocaleString('en', {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: 0,
  })
  return (
    <p class="quiet small">
      {text} <span class="visually-hidden">compared with {than}</span>
    </p>
  )
}
