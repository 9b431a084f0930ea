//! The time of an entry of an access log.

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Years whose nanoseconds since 1970 fit into 64 bits, and no server logged another.
const YEARS: std::ops::RangeInclusive<i64> = 1970..=2200;

/// Seconds since 1970 of `10/Oct/2000:13:55:36 -0700`.
pub(super) fn seconds(text: &[u8]) -> Option<i64> {
    if text.len() != 26 || [2, 6, 11, 14, 17, 20].map(|place| text[place]) != *b"//::: " {
        return None;
    }
    let month = MONTHS.iter().position(|name| **name == text[3..6])? as i64 + 1;
    let (day, year) = (number(&text[..2])?, number(&text[7..11])?);
    let (hour, minute, second) = (number(&text[12..14])?, number(&text[15..17])?, number(&text[18..20])?);
    // A leap second may be logged as 60.
    if !YEARS.contains(&year)
        || day < 1
        || day > month_length(year, month)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let ahead = number(&text[22..24])? * 3600 + number(&text[24..])? * 60;
    let zone = match text[21] {
        b'+' => ahead,
        b'-' => -ahead,
        _ => return None,
    };
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - zone)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits
        .iter()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
}

const fn month_length(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar: a year that begins in March has its leap day at its end, so days
/// before a month follow from a line of slope 153/5 (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    // From 0000-03-01 to 1970-01-01.
    days - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_since_1970() {
        for (text, expected) in [
            ("01/Jan/1970:00:00:00 +0000", 0),
            ("10/Oct/2000:13:55:36 -0700", 971_211_336),
            ("29/Feb/2000:00:00:00 +0000", 951_782_400),
            ("31/Dec/2016:23:59:60 +0000", 1_483_228_800),
            ("01/Mar/2100:05:30:00 +0530", 4_107_542_400),
        ] {
            assert_eq!(seconds(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for text in [
            "29/Feb/2001:00:00:00 +0000",
            "00/Jan/2001:00:00:00 +0000",
            "31/Jun/2001:00:00:00 +0000",
            "01/Jan/1969:00:00:00 +0000",
            "01/Jan/9999:00:00:00 +0000",
            "10/oct/2000:13:55:36 -0700",
            "10/Oct/2000:24:00:00 +0000",
            "10/Oct/2000:13:55:36  0700",
            "10/Oct/2000:13:55:36 -07:0",
            "1/Oct/2000:13:55:36 -0700",
            "2000-10-10T13:55:36-07:00",
            "",
        ] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }
}
