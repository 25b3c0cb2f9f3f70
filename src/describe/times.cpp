// Times, dates and durations as text (RFC 3339, ISO 8601), and paths.

#include <keel/describe.hpp>

#include <chrono>
#include <limits>

namespace keel::inline KEEL_ABI::detail {

namespace {

__extension__ using wide = __int128;  // a number of ticks times the length of a tick

constexpr std::int64_t nanos_per_second = 1'000'000'000;
constexpr std::int64_t most_seconds = std::numeric_limits<std::int64_t>::max() / nanos_per_second;

std::string quoted(const json::value& v) {
    std::string text = json::to_string(v);
    if (text.size() > 64) {
        std::size_t end = 64;
        while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // do not split a character
        text.resize(end);
        text += "…";
    }
    return text;
}

bool refuse(decode_error& e, const char* expected, const json::value& found) {
    e.path.clear();
    e.text = std::string("expected ") + expected + ", found " +
             (found.is_string() ? quoted(found) : std::string(json::name_of(found.type())));
    return false;
}

/// An amount of time: exact, and with a larger range than any duration of 64 bits.
struct amount {
    wide seconds = 0;
    std::int64_t nanos = 0;  // 0 to 999,999,999
};

amount amount_of(std::int64_t count, tick_length unit) {
    const wide parts = static_cast<wide>(count) * unit.num;
    amount a;
    a.seconds = parts / unit.den;
    wide rest = parts % unit.den;
    if (rest < 0) {
        rest += unit.den;
        --a.seconds;
    }
    a.nanos = static_cast<std::int64_t>(rest * nanos_per_second / unit.den);
    return a;
}

/// The number of ticks, rounded down; false if it does not fit. `exact`: there was no remainder.
bool ticks_of(amount a, tick_length unit, std::int64_t& count, bool& exact) {
    if (a.seconds > wide{most_seconds} * 1000 || a.seconds < -wide{most_seconds} * 1000) return false;
    const wide nanos = a.seconds * nanos_per_second + a.nanos;
    const wide length = wide{unit.num} * nanos_per_second;
    const wide scaled = nanos * unit.den;
    wide whole = scaled / length;
    exact = scaled % length == 0;
    if (!exact && scaled < 0) --whole;
    if (whole > std::numeric_limits<std::int64_t>::max() || whole < std::numeric_limits<std::int64_t>::min())
        return false;
    count = static_cast<std::int64_t>(whole);
    return true;
}

void append_padded(std::string& out, std::uint64_t n, std::size_t digits) {
    const std::string text = std::to_string(n);
    out.append(digits > text.size() ? digits - text.size() : 0, '0');
    out += text;
}

/// "" or ".5"
void append_fraction(std::string& out, std::int64_t nanos) {
    if (nanos == 0) return;
    out += '.';
    append_padded(out, static_cast<std::uint64_t>(nanos), 9);
    while (out.back() == '0') out.pop_back();
}

/// The text that has not been read yet.
struct cursor {
    std::string_view text;

    bool take(char c) noexcept {
        if (text.empty() || text.front() != c) return false;
        text.remove_prefix(1);
        return true;
    }
    bool at_digit() const noexcept { return !text.empty() && text.front() >= '0' && text.front() <= '9'; }
    /// Exactly that many digits.
    bool number(std::size_t digits, int& n) noexcept {
        n = 0;
        for (std::size_t i = 0; i != digits; ++i) {
            if (!at_digit()) return false;
            n = n * 10 + (text.front() - '0');
            text.remove_prefix(1);
        }
        return true;
    }
    /// One or more digits; too large a number is as good as none.
    bool number(std::int64_t& n) noexcept {
        if (!at_digit()) return false;
        n = 0;
        for (; at_digit(); text.remove_prefix(1)) {
            if (n > most_seconds) return false;
            n = n * 10 + (text.front() - '0');
        }
        return true;
    }
    /// Digits after a decimal point, as nanoseconds. Finer digits are dropped.
    bool fraction(std::int64_t& nanos) noexcept {
        if (!at_digit()) return false;
        nanos = 0;
        for (std::int64_t unit = nanos_per_second / 10; at_digit(); unit /= 10, text.remove_prefix(1)) {
            nanos += (text.front() - '0') * unit;
        }
        return true;
    }
};

bool take_date(cursor& c, calendar_date& d) {
    int month = 0;
    int day = 0;
    if (!c.number(4, d.year) || !c.take('-') || !c.number(2, month) || !c.take('-') || !c.number(2, day)) return false;
    d.month = static_cast<unsigned>(month);
    d.day = static_cast<unsigned>(day);
    return std::chrono::year_month_day(std::chrono::year(d.year), std::chrono::month(d.month), std::chrono::day(d.day))
        .ok();
}

std::int64_t days_of(calendar_date d) {
    const std::chrono::year_month_day date(std::chrono::year(d.year), std::chrono::month(d.month),
                                           std::chrono::day(d.day));
    return std::chrono::sys_days(date).time_since_epoch().count();
}

/// RFC 3339: 2026-07-28T12:00:00.5+02:00
bool take_time(cursor& c, amount& a) {
    calendar_date date{};
    if (!take_date(c, date) || !(c.take('T') || c.take('t'))) return false;
    int hour = 0;
    int minute = 0;
    int second = 0;
    if (!c.number(2, hour) || !c.take(':') || !c.number(2, minute) || !c.take(':') || !c.number(2, second))
        return false;
    if (hour > 23 || minute > 59 || second > 60) return false;
    if (c.take('.') && !c.fraction(a.nanos)) return false;
    int offset = 0;
    if (!c.take('Z') && !c.take('z')) {
        const bool west = c.take('-');
        if (!west && !c.take('+')) return false;
        int hours = 0;
        int minutes = 0;
        if (!c.number(2, hours) || !c.take(':') || !c.number(2, minutes) || hours > 23 || minutes > 59) return false;
        offset = (hours * 60 + minutes) * (west ? -60 : 60);
    }
    a.seconds = wide{days_of(date)} * 86400 + hour * 3600 + minute * 60 + second - offset;
    // A leap second is the last second of a UTC day. It is counted as the next second.
    const auto in_day = static_cast<int>(((a.seconds % 86400) + 86400) % 86400);
    return c.text.empty() && (second != 60 || in_day == 0);
}

/// ISO 8601: P2W, P1DT2H, PT1.5S; a minus sign in front is allowed. Years and months have no fixed length.
bool take_duration(cursor& c, amount& a) {
    struct part {
        char unit;
        std::int64_t seconds;
    };
    static constexpr part date_parts[] = {{'W', 604800}, {'D', 86400}};
    static constexpr part time_parts[] = {{'H', 3600}, {'M', 60}, {'S', 1}};
    const bool negative = c.take('-');
    if (!c.take('P') || c.text.empty()) return false;
    std::int64_t nanos = 0;
    bool last = false;  // a fraction ends the duration
    const auto take_parts = [&](const part* from, const part* end) {
        for (bool any = false;; any = true) {
            if (!c.at_digit()) return any;
            std::int64_t n = 0;
            if (last || !c.number(n)) return false;
            if (c.take('.') || c.take(',')) {
                if (!c.fraction(nanos) || c.text.empty() || c.text.front() != 'S') return false;
                last = true;
            }
            while (from != end && !(c.text.starts_with(from->unit))) ++from;
            if (from == end) return false;
            c.text.remove_prefix(1);
            a.seconds += wide{n} * from->seconds;
            ++from;
        }
    };
    if (c.text.front() != 'T' && !take_parts(std::begin(date_parts), std::end(date_parts))) return false;
    if (c.take('T') && !take_parts(std::begin(time_parts), std::end(time_parts))) return false;
    if (!c.text.empty()) return false;
    a.nanos = nanos;
    if (negative) {
        a.seconds = -a.seconds;
        if (nanos != 0) {
            --a.seconds;
            a.nanos = nanos_per_second - nanos;
        }
    }
    return true;
}

}  // namespace

std::string date_text(calendar_date d) {
    const std::chrono::year_month_day date(std::chrono::year(d.year), std::chrono::month(d.month),
                                           std::chrono::day(d.day));
    if (!date.ok() || d.year < 0 || d.year > 9999) {
        throw json::error("cannot encode a date that does not exist or is not in the years 0 to 9999");
    }
    std::string out;
    append_padded(out, static_cast<std::uint64_t>(d.year), 4);
    out += '-';
    append_padded(out, d.month, 2);
    out += '-';
    append_padded(out, d.day, 2);
    return out;
}

std::string time_text(std::int64_t count, tick_length unit) {
    const amount a = amount_of(count, unit);
    wide day = a.seconds / 86400;
    auto second = static_cast<std::int64_t>(a.seconds % 86400);
    if (second < 0) {
        second += 86400;
        --day;
    }
    // Years 0 to 9999; date_text checks them exactly, but std::chrono has a smaller range than `wide`.
    if (day < -800'000 || day > 3'000'000) throw json::error("cannot encode a time that is not in the years 0 to 9999");
    const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(static_cast<int>(day)))};
    std::string out = date_text(
        {static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day())});
    if (unit.num == 86400 && unit.den == 1) return out;
    const auto seconds = static_cast<std::uint64_t>(second);
    out += 'T';
    append_padded(out, seconds / 3600, 2);
    out += ':';
    append_padded(out, seconds / 60 % 60, 2);
    out += ':';
    append_padded(out, seconds % 60, 2);
    append_fraction(out, a.nanos);
    out += 'Z';
    return out;
}

std::string duration_text(std::int64_t count, tick_length unit) {
    amount a = amount_of(count, unit);
    std::string out;
    if (a.seconds < 0) {
        out += '-';
        a.seconds = -a.seconds;
        if (a.nanos != 0) {
            --a.seconds;
            a.nanos = nanos_per_second - a.nanos;
        }
    }
    if (a.seconds > most_seconds) throw json::error("cannot encode a duration that is too long");
    const auto seconds = static_cast<std::int64_t>(a.seconds);
    const auto append = [&out](std::int64_t n, char letter) {
        if (n != 0) (out += std::to_string(n)) += letter;
    };
    out += 'P';
    append(seconds / 86400, 'D');
    if (seconds % 86400 == 0 && a.nanos == 0 && seconds != 0) return out;
    out += 'T';
    append(seconds / 3600 % 24, 'H');
    append(seconds / 60 % 60, 'M');
    if (seconds % 60 != 0 || a.nanos != 0 || seconds == 0) {
        out += std::to_string(seconds % 60);
        append_fraction(out, a.nanos);
        out += 'S';
    }
    return out;
}

bool decode_date(const json::value& v, calendar_date& date, decode_error& e) {
    cursor c{v.if_string().value_or(std::string_view())};
    if (take_date(c, date) && c.text.empty()) return true;
    return refuse(e, "a date like \"2026-07-28\"", v);
}

bool decode_time(const json::value& v, tick_length unit, std::int64_t& count, decode_error& e) {
    cursor c{v.if_string().value_or(std::string_view())};
    amount a;
    if (unit.num == 86400 && unit.den == 1) {
        calendar_date date{};
        if (!decode_date(v, date, e)) return false;
        count = days_of(date);
        return true;
    }
    if (!take_time(c, a)) return refuse(e, "a time like \"2026-07-28T12:00:00Z\"", v);
    bool exact = true;
    if (!ticks_of(a, unit, count, exact)) return out_of_range(e, v);
    // Parts of a second are dropped: many programs write them always. Seconds and minutes are not.
    if (!exact && unit.num > 1) return refuse(e, "a multiple of the unit of this time", v);
    return true;
}

bool decode_duration(const json::value& v, tick_length unit, std::int64_t& count, decode_error& e) {
    cursor c{v.if_string().value_or(std::string_view())};
    amount a;
    if (!take_duration(c, a)) return refuse(e, "a duration like \"PT1H30M\" (ISO 8601, without years and months)", v);
    bool exact = true;
    if (!ticks_of(a, unit, count, exact)) return out_of_range(e, v);
    if (exact) return true;
    return refuse(e, ("a multiple of " + duration_text(1, unit)).c_str(), v);
}

bool decode_path(const json::value& v, std::string& text, decode_error& e) {
    const auto found = v.if_string();
    if (!found) return refuse(e, "string", v);
    // System calls would use the part before it.
    if (found->find('\0') != found->npos) return refuse(e, "a path without a null character", v);
    text = *found;
    return true;
}

bool out_of_range(decode_error& e, const json::value& found) {
    return refuse(e, "a value that this program can store", found);
}

json::value text_schema(const char* format) {
    json::value made = json::object({{"type", "string"}});
    if (format != nullptr) made.append("format", format);
    return made;
}

bool write_text_form(std::string& out, std::string (*text)(const void*), const void* p) {
    try {
        return json::write_string(out, text(p));
    } catch (const json::error&) {  // as documented, write_json does not throw
        return false;
    }
}

}  // namespace keel::detail
