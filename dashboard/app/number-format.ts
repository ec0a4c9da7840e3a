import { setNumberFormat } from '../../protocol/format.ts'

/** Formats with 0 and 1 digits after the decimal separator, by the browser's locale. */
const FORMATS = [0, 1].map(
  (digits) =>
    new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits }),
)

setNumberFormat((number, fractionDigits) => FORMATS[fractionDigits]!.format(number))
